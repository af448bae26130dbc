from cuckoo_set import DESCRIPTOR

from crawler.testing import VisitedSetContract


class TestCuckooSet(VisitedSetContract):
    descriptor = DESCRIPTOR
