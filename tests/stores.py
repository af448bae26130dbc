"""Stores of crawls, opened to be looked into."""

from config import Config
from crawler.disk.directory import CrawlDirectory
from crawler.wiring.storage import open_state
from frontier.leveldb.store import LevelDBStore
from frontier.states.store_state import StoreState


def open_leveldb(config: Config, directory: CrawlDirectory) -> LevelDBStore:
    state = open_state(config, directory)
    assert isinstance(state, StoreState)
    assert isinstance(state.store, LevelDBStore)
    return state.store
