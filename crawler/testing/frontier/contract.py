"""The suite as a whole."""

from crawler.testing.frontier.admission import AdmissionTests
from crawler.testing.frontier.crashes import CrashTests, RestartTests
from crawler.testing.frontier.failures import FailureTests
from crawler.testing.frontier.forcing import ForcingTests
from crawler.testing.frontier.full_disks import FullDiskTests
from crawler.testing.frontier.leases import LeaseTests
from crawler.testing.frontier.ledger import LedgerTests
from crawler.testing.frontier.operating import OperatingTests
from crawler.testing.frontier.queues.groups import GroupTests
from crawler.testing.frontier.queues.hosts import HostTests
from crawler.testing.frontier.queues.prerequisites import PrerequisiteTests
from crawler.testing.frontier.queues.settings import SettingTests
from crawler.testing.frontier.queues.trouble import TroubleTests
from crawler.testing.frontier.settling import SettlingTests
from crawler.testing.frontier.states import StateTests
from crawler.testing.frontier.waiting import WaitingTests


class FrontierContract(
    AdmissionTests,
    LeaseTests,
    WaitingTests,
    SettlingTests,
    ForcingTests,
    LedgerTests,
    StateTests,
    OperatingTests,
    SettingTests,
    TroubleTests,
    GroupTests,
    HostTests,
    PrerequisiteTests,
    RestartTests,
    FailureTests,
    CrashTests,
    FullDiskTests,
):
    """What every frontier promises, whatever it keeps its URLs in."""
