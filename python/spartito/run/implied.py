# SPDX-License-Identifier: BSD-3-Clause
"""Settings that other settings imply, and settings without effect."""

from __future__ import annotations

from spartito.options.table import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spartito.options.settings import Value

SAMPLE_BYTES = "524288"  # sampling period in bytes if --limit-rss is given without --memory-sample


def with_memory(values: dict[str, Value]) -> dict[str, str]:
    """The settings that --memory-sample and --limit-rss imply without --memory-profile: the sampling period, and that functions are
    not recorded."""
    sampled = any(values[name].text != "0" for name in ("memory_sample", "limit_rss"))
    if values["memory_profile"].text != "0" or not sampled:
        return {}
    more = {"memory_sample": SAMPLE_BYTES} if values["memory_sample"].text == "0" else {}
    return {**more, "instrument": "0"} if values["trace"].text == "0" and values["calls"].origin == "default" else more


def with_trace(texts: dict[str, str], values: list[Value]) -> None:
    """Enables the trace if a format of --to needs it. With --sample it is not enabled: samples have timestamps, too. Usage: the
    user disabled the trace."""
    from spartito.experiments.conversion import find

    if texts["sample"] == "1":
        return

    needing = [name for name in texts["to"].split(",") if find(name).needs_trace]
    for value in values:
        if value.setting.name == "trace" and needing and value.text != "1":
            if value.origin != "default":
                origin = "--no-trace" if value.origin == "command line" else value.origin
                raise Usage(f"--to {needing[0]} needs the trace, but {origin} turns it off")
            value.text, value.origin = "1", "--to " + needing[0]


def without_effect(values: dict[str, Value]) -> None:
    """Usage: an option would have no effect because another one is missing."""
    annotate = values["annotate"]
    if annotate.text == "1" and values["trace"].text != "1":
        raise Usage(f"{annotate.named} is for traces, and there is none: give --trace as well")
    native = values["sample_native"]
    if native.text == "1" and values["sample"].text != "1":
        raise Usage(f"{native.named} is for samples, and there are none: give --sample as well")
