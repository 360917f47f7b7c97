# SPDX-License-Identifier: BSD-3-Clause
"""Reads traces for timeline viewers: Perfetto's with the message classes of the `perfetto` package, Chrome's with json. Both become
the same class Trace, with times in ns from its begin."""

import gzip
import json
from collections import namedtuple
from types import SimpleNamespace

REALTIME, OWN_CLOCK, CLEARED, NEEDS = 1, 64, 1, 2
Event = namedtuple("Event", "kind time name categories place notes flows")
Slice = namedtuple("Slice", "name begin end categories notes flows")


class Trace:
    """pids {pid: name}; threads {(pid, tid): [Event]}, their names thread_names; tasks {number of the track: [Event]} with
    task_names; processes {pid: [Event]}; counts {(pid, tid or None, name): [(time, value)]}; root [Event]."""

    def __init__(self):
        self.pids, self.thread_names, self.task_names = {}, {}, {}
        self.threads, self.tasks, self.processes, self.counts, self.root = {}, {}, {}, {}, []

    def flows(self):
        """{id: [(pid, tid or None, time, name, whether it is the last end)] in the order of time}"""
        found = {}
        for (pid, tid), events in [*self.threads.items(), *(((None, task), e) for task, e in self.tasks.items())]:
            for e in events:
                for id, last in e.flows:
                    found.setdefault(id, []).append((pid, tid, e.time, e.name, last))
        return {id: sorted(ends, key=lambda end: end[2]) for id, ends in found.items()}

    def slices(self, events):
        """Slices in the order of their begin; end is None for slices that are not closed. Notes of begin and end are merged."""
        found, stack = [], []
        for e in events:
            if e.kind == "B":
                stack.append(len(found))
                found.append(Slice(e.name, e.time, None, e.categories, dict(e.notes), e.flows))
            elif e.kind == "E":
                at = stack.pop()
                found[at] = found[at]._replace(end=e.time, notes={**found[at].notes, **e.notes})
        return found

    def named(self, name):
        return [s for events in self.threads.values() for s in self.slices(events) if s.name == name]

    def instants(self, name):
        return [e for events in self.threads.values() for e in events if e.kind == "i" and e.name == name]


def content(path):
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


# ---- Perfetto ----


class _Sequence:
    """The state that packets of a sequence share."""

    def __init__(self, packet):
        assert packet.first_packet_on_sequence and packet.sequence_flags == CLEARED
        self.defaults = packet.trace_packet_defaults
        clocks = {c.clock_id: c for c in packet.clock_snapshot.clocks}
        assert packet.clock_snapshot.primary_trace_clock == REALTIME and REALTIME in clocks
        self.ordered = self.defaults.timestamp_clock_id == OWN_CLOCK
        self.time = clocks[REALTIME].timestamp
        if self.ordered:
            assert clocks[OWN_CLOCK].is_incremental
        self.texts = {kind: {} for kind in ("event_categories", "event_names", "debug_annotation_names")}
        self.values, self.places = {}, {}

    def learn(self, data):
        for kind, known in self.texts.items():
            for entry in getattr(data, kind):
                assert entry.iid not in known, "said twice"
                known[entry.iid] = entry.name
        for entry in data.debug_annotation_string_values:
            self.values[entry.iid] = entry.str.decode()
        for entry in data.source_locations:
            self.places[entry.iid] = entry.file_name, entry.function_name, entry.line_number

    def at(self, packet):
        self.time = self.time + packet.timestamp if self.ordered else packet.timestamp
        return self.time

    def note(self, a):
        name = self.texts["debug_annotation_names"][a.name_iid]
        kind = a.WhichOneof("value")
        return name, self.values[a.string_value_iid] if kind == "string_value_iid" else getattr(a, kind)


def perfetto(path):
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace as Message
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TrackEvent

    kinds = {TrackEvent.TYPE_SLICE_BEGIN: "B", TrackEvent.TYPE_SLICE_END: "E", TrackEvent.TYPE_INSTANT: "i"}
    message = Message.FromString(content(path))
    assert message.SerializeToString(), "empty"
    trace, sequences, tracks, zero = Trace(), {}, {0: SimpleNamespace(kind="root")}, None
    for packet in message.packet:
        known = sequences.get(packet.trusted_packet_sequence_id)
        if known is None:
            known = sequences[packet.trusted_packet_sequence_id] = _Sequence(packet)
            zero = known.time if zero is None else zero
        elif packet.HasField("interned_data"):
            assert packet.sequence_flags == NEEDS
            known.learn(packet.interned_data)
        elif packet.HasField("track_descriptor"):
            _track(trace, tracks, packet.track_descriptor)
        else:
            event = packet.track_event
            number = event.track_uuid if event.HasField("track_uuid") else known.defaults.track_event_defaults.track_uuid
            track, time = tracks[number], known.at(packet) - zero
            if event.type == TrackEvent.TYPE_COUNTER:
                track.values.append((time, event.double_counter_value))
                continue
            name = known.texts["event_names"][event.name_iid] if event.name_iid else None
            flows = [(id, False) for id in event.flow_ids] + [(id, True) for id in event.terminating_flow_ids]
            place = known.places[event.source_location_iid] if event.source_location_iid else None
            categories = [known.texts["event_categories"][i] for i in event.category_iids]
            notes = dict(known.note(a) for a in event.debug_annotations)
            assert len(notes) == len(event.debug_annotations), "two notes of one name"
            _list(trace, track).append(Event(kinds[event.type], time, name, categories, place, notes, flows))
    return trace


def _list(trace, track):
    return trace.root if track.kind == "root" else track.events


def _track(trace, tracks, d):
    assert d.uuid not in tracks
    parent = tracks[d.parent_uuid]
    track = tracks[d.uuid] = SimpleNamespace(kind=None, events=[], values=[])
    if d.HasField("process"):
        track.kind, track.key = "process", d.process.pid
        assert d.process.pid not in trace.pids
        trace.pids[d.process.pid] = d.process.process_name
        trace.processes[d.process.pid] = track.events
    elif d.HasField("thread"):
        track.kind, track.key = "thread", (d.thread.pid, d.thread.tid)
        assert parent.key == d.thread.pid and track.key not in trace.threads
        trace.thread_names[track.key] = d.thread.thread_name
        trace.threads[track.key] = track.events
    elif d.HasField("counter"):
        track.kind = "counter"
        pid, tid = parent.key if parent.kind == "thread" else (parent.key, None)
        trace.counts[pid, tid, d.name] = track.values
    else:
        assert parent.kind == "process"
        track.kind = "task"
        trace.tasks[d.uuid] = track.events
        trace.task_names[d.uuid] = d.name


# ---- Chrome ----


def chrome(path):
    document = json.loads(content(path))
    assert document["displayTimeUnit"] == "ns"
    trace, last = Trace(), {}
    for e in document["traceEvents"]:
        kind, pid = e["ph"], e.get("pid")
        time = round(e["ts"] * 1000) if "ts" in e else None
        if kind == "M":
            if e["name"] == "process_name":
                trace.pids[pid] = e["args"]["name"]
                trace.processes[pid] = []
            elif e["name"] == "thread_name":
                trace.threads[pid, e["tid"]] = []
                trace.thread_names[pid, e["tid"]] = e["args"]["name"]
            continue
        if kind == "C":
            trace.counts.setdefault((pid, e["name"]), []).append((time, e["args"]["value"]))
            continue
        if kind in "sf":
            at = last[pid, e["tid"]]
            assert at[-1].time == time and (kind == "s" or e["bp"] == "e")
            at[-1].flows.append((int(e["id"], 16), kind == "f"))
            continue
        notes = dict(e.get("args", {}))
        place = notes.pop("source", None)
        event = Event(kind, time, e.get("name"), e.get("cat", "").split(","), place, notes, [])
        if kind in "ben":
            event = event._replace(kind={"b": "B", "e": "E", "n": "i"}[kind])
            trace.task_names[e["id"]] = notes.pop("task")
            trace.tasks.setdefault(e["id"], []).append(event)
        elif e.get("s") == "g":
            trace.root.append(event)
        elif e.get("s") == "p":
            trace.processes[pid].append(event)
        else:
            last[pid, e["tid"]] = trace.threads[pid, e["tid"]]
            trace.threads[pid, e["tid"]].append(event)
    return trace
