"""The files in deploy/cluster fit the commands, and the programs that read them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import check_jsonschema
import click
import jsonschema
import kubernetes_validate
import msgspec
import promql_parser
import pytest
import yaml

from config import load
from crawler.cli import onceover

KUBERNETES = ("1.29", "1.32", kubernetes_validate.latest_version())
"""From the oldest version that clouds still offer to the newest."""
_COMPOSE = Path(check_jsonschema.__file__).parent / "builtin_schemas" / "vendor" / "compose-spec.json"


@pytest.fixture
def folder(repository: Path) -> Path:
    return repository / "deploy" / "cluster"


def compose(folder: Path) -> dict[str, Any]:
    return msgspec.convert(yaml.safe_load((folder / "compose.yaml").read_text()), dict[str, Any])


def manifests(folder: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((folder / "kubernetes.yaml").read_text()))


def assert_is_a_command(arguments: list[str]) -> None:
    """Click accepts these arguments."""
    command: click.Command = onceover
    left = arguments
    while isinstance(command, click.Group):
        found = command.commands[left[0]]
        command, left = found, left[1:]
    command.make_context(str(command.name), [part.replace("/etc/onceover/", "deploy/cluster/") for part in left])


def test_compose_reads_each_line(folder: Path) -> None:
    schema = msgspec.json.decode(_COMPOSE.read_bytes(), type=dict[str, Any])
    jsonschema.validate(compose(folder), schema)


@pytest.mark.parametrize("version", KUBERNETES)
def test_kubernetes_reads_each_line(folder: Path, version: str) -> None:
    found = manifests(folder)
    assert {each["kind"] for each in found} == {"ConfigMap", "Service", "StatefulSet", "Job"}
    for each in found:
        kubernetes_validate.validate(each, version, strict=True)


def test_a_schema_finds_what_is_wrong(folder: Path) -> None:
    stateful = manifests(folder)[-1]
    stateful["spec"]["replica"] = 3
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(stateful, KUBERNETES[-1], strict=True)


def containers(folder: Path) -> Mapping[str, list[str]]:
    """The arguments of all containers that run onceover, by name."""
    found = {name: each["command"] for name, each in compose(folder)["services"].items() if each["image"] == "onceover"}
    for each in manifests(folder):
        for container in each.get("spec", {}).get("template", {}).get("spec", {}).get("containers", []):
            if container["image"] == "onceover":
                found[f"kubernetes {container['name']}"] = container["args"]
    return found


def test_containers_run_commands_that_exist(folder: Path, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository)
    found = containers(folder)
    assert len(found) == 7
    for arguments in found.values():
        assert_is_a_command(arguments)


def test_each_crawler_has_a_volume_of_its_own(folder: Path) -> None:
    found = compose(folder)
    crawlers = [each for name, each in found["services"].items() if name.startswith("crawler-")]
    named = [volume.partition(":")[0] for each in crawlers for volume in each["volumes"]]
    assert len({*named}) == len(crawlers) == 4
    assert {*named} <= found["volumes"].keys()
    (stateful,) = [
        each for each in manifests(folder) if each["metadata"]["name"] == "onceover" and each["kind"] == "StatefulSet"
    ]
    mounted = [mount["name"] for mount in stateful["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]]
    assert [claim["metadata"]["name"] for claim in stateful["spec"]["volumeClaimTemplates"]] == mounted


def test_the_configurations_are_valid_and_the_same(folder: Path, tmp_path: Path) -> None:
    (stored,) = [each["data"]["site.toml"] for each in manifests(folder) if each["kind"] == "ConfigMap"]
    (tmp_path / "site.toml").write_text(stored)
    one, other = (load(path, environ={}).config for path in (folder / "site.toml", tmp_path / "site.toml"))
    assert msgspec.structs.replace(one, crawl=one.crawl) == msgspec.structs.replace(other, crawl=one.crawl)
    assert one.crawl.seeds == other.crawl.seeds


def test_redis_never_deletes_keys_and_keeps_them(folder: Path) -> None:
    in_compose = " ".join(compose(folder)["services"]["redis"]["command"])
    (stateful,) = [
        each for each in manifests(folder) if each["metadata"]["name"] == "redis" and each["kind"] == "StatefulSet"
    ]
    in_kubernetes = stateful["spec"]["template"]["spec"]["containers"][0]["args"][0]
    for command in (in_compose, in_kubernetes):
        assert "--maxmemory-policy noeviction" in " ".join(command.split())
        assert "--appendonly yes" in command


def test_prometheus_understands_each_expression(folder: Path) -> None:
    scraped = yaml.safe_load((folder / "prometheus.yml").read_text())
    targets = [
        target for job in scraped["scrape_configs"] for each in job["static_configs"] for target in each["targets"]
    ]
    assert {target.partition(":")[0] for target in targets} <= compose(folder)["services"].keys()
    assert all((folder / name).is_file() for name in scraped["rule_files"])
    rules = [
        rule for group in yaml.safe_load((folder / "redis-alerts.yml").read_text())["groups"] for rule in group["rules"]
    ]
    assert rules
    for rule in rules:
        promql_parser.parse(rule["expr"])
