"""Loads configurations, which may name backends of other packages."""

from functools import partial
from typing import Final

import config
from crawler.url.seeds import is_seed
from crawler.wiring.plugins.catalog import Catalog

load: Final = partial(config.load, backends=Catalog(), is_seed=is_seed)  # noqa: TID251 - this is what others use
"""`config.load`, with all backends that are installed."""
setting_values: Final = partial(config.setting_values, backends=Catalog())  # noqa: TID251 - see above
"""The same for `config.setting_values`."""
