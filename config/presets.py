"""Presets: configurations that come with the package, to start from or to use with `extends`."""

from importlib.resources import files


def presets() -> list[str]:
    """Names of the presets, sorted."""
    names = (file.name for file in files("config").iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def preset_text(name: str) -> str:
    """The TOML of a preset, with comments. Raises `KeyError` for an unknown name."""
    if name not in presets():
        raise KeyError(name)
    return files("config").joinpath(f"{name}.toml").read_text(encoding="utf-8")
