from hash_set import DESCRIPTOR

from crawler.testing import VisitedSetContract


class TestHashSet(VisitedSetContract):
    descriptor = DESCRIPTOR
