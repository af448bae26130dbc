"""Works and competitors, small."""

from crawler.compare.measure.preparing import synthetic_work
from crawler.compare.measure.synthetic import Synthetic
from crawler.compare.measure.trial import (
    Check,
    Competitor,
    Effort,
    Look,
    Timing,
)
from crawler.compare.measure.work import Work

EXACT = Competitor(name="exact", backend="exact")
BLOOM = Competitor(name="bloom", backend="bloom", error_rate=0.02)
EFFORT = Effort(probes=2000, looks=5)


def work(distinct: int = 5000, *, repeats: float = 0.5, skew: float = 1.0, seed: int = 1) -> Work:
    return synthetic_work("work", Synthetic(distinct=distinct, repeats=repeats, hosts=50, skew=skew, seed=seed))


def timing(*, reported_bytes: int | None = 1_000_000, steady_bytes: int = 1_000_000) -> Timing:
    return Timing(
        new_per_s=1e6,
        known_per_s=2e6,
        links_per_s=1e6,
        batches=100,
        p50_s=1e-5,
        p99_s=2e-5,
        p999_s=3e-5,
        slowest_s=4e-5,
        steady_bytes=steady_bytes,
        peak_bytes=steady_bytes,
        reported_bytes=reported_bytes,
        noise_bytes=1 << 20,
        disk_bytes=0,
        looks=(Look(distinct=5000, reported_bytes=reported_bytes),),
    )


def check(
    *, lost: int = 0, rate: float = 0.0, past_lost: int = 0, distinct: int = 1_000_000, past_bytes: int | None = 1
) -> Check:
    look = Look(
        distinct=distinct, reported_bytes=1, estimated_rate=rate, probes=20_000, hits=round(20_000 * rate), lost=lost
    )
    past = Look(
        distinct=2 * distinct, reported_bytes=past_bytes, estimated_rate=rate, probes=20_000, hits=0, lost=past_lost
    )
    return Check(
        links=2 * distinct,
        distinct=distinct,
        lost=lost,
        estimated_lost=float(lost),
        lost_sigma=lost**0.5,
        recovered=0,
        twice=0,
        looks=(look,),
        past=(past,),
    )
