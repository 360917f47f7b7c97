# SPDX-License-Identifier: BSD-3-Clause
"""pprof's message classes, created by Google's protobuf package from this copy of the published schema (profile.proto of
github.com/google/pprof), reduced to names, numbers and types."""

import gzip

import pytest

SCHEMA = {
    "Profile": "1 sample_type ValueType*, 2 sample Sample*, 3 mapping Mapping*, 4 location Location*, 5 function Function*, "
    "6 string_table string*, 7 drop_frames int64, 8 keep_frames int64, 9 time_nanos int64, 10 duration_nanos int64, "
    "11 period_type ValueType, 12 period int64, 13 comment int64*, 14 default_sample_type int64, 15 doc_url int64",
    "ValueType": "1 type int64, 2 unit int64",
    "Sample": "1 location_id uint64*, 2 value int64*, 3 label Label*",
    "Label": "1 key int64, 2 str int64, 3 num int64, 4 num_unit int64",
    "Mapping": "1 id uint64, 2 memory_start uint64, 3 memory_limit uint64, 4 file_offset uint64, 5 filename int64, "
    "6 build_id int64, 7 has_functions bool, 8 has_filenames bool, 9 has_line_numbers bool, 10 has_inline_frames bool",
    "Location": "1 id uint64, 2 mapping_id uint64, 3 address uint64, 4 line Line*, 5 is_folded bool",
    "Line": "1 function_id uint64, 2 line int64, 3 column int64",
    "Function": "1 id uint64, 2 name int64, 3 system_name int64, 4 filename int64, 5 start_line int64",
}


def profile_class():
    pytest.importorskip("google.protobuf", reason="no protobuf")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="perftools.profiles", syntax="proto3")
    for message, fields in SCHEMA.items():
        made = file.message_type.add(name=message)
        for text in fields.split(", "):
            number, name, kind = text.split()
            field = made.field.add(name=name, number=int(number), label=3 if kind.endswith("*") else 1)
            kind = kind.rstrip("*")
            if kind in SCHEMA:
                field.type, field.type_name = field.TYPE_MESSAGE, ".perftools.profiles." + kind
            else:
                field.type = getattr(field, "TYPE_" + kind.upper())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("perftools.profiles.Profile"))


class Profile:
    """A profile, checked with the rules of pprof's CheckValid(). types [(name, unit)], samples [(stack of names from the outermost
    in, {type: value}, {label: text or number})]."""

    def __init__(self, path):
        data = path.read_bytes()
        self.packed = data[:2] == b"\x1f\x8b"
        data = gzip.decompress(data) if self.packed else data
        self.message = p = profile_class()()
        assert p.ParseFromString(data) == len(data)
        text = self.text = p.string_table
        assert text[0] == "" and len(set(text)) == len(text)
        self.types = [(text[t.type], text[t.unit]) for t in p.sample_type]
        assert len(set(self.types)) == len(self.types)
        self.mappings = {m.id: m for m in p.mapping}
        self.functions = {f.id: f for f in p.function}
        self.locations = {place.id: place for place in p.location}
        assert 0 not in {*self.mappings, *self.functions, *self.locations}
        assert len(self.mappings) == len(p.mapping) and len(self.functions) == len(p.function)
        assert len(self.locations) == len(p.location)
        self.samples = [self._sample(s) for s in p.sample]

    def _sample(self, s):
        assert len(s.value) == len(self.types)
        names = [self.text[self._function(id).name] for id in s.location_id]
        labels = {self.text[label.key]: self.text[label.str] if label.str else label.num for label in s.label}
        assert len(labels) == len(s.label)
        return tuple(names[::-1]), dict(zip((name for name, _ in self.types), s.value)), labels

    def _function(self, location):
        place = self.locations[location]
        assert place.mapping_id in self.mappings and len(place.line) == 1
        return self.functions[place.line[0].function_id]

    def sums(self, *labels):
        """{(stack, value of each label): {type: sum}}"""
        found = {}
        for stack, values, known in self.samples:
            at = found.setdefault((stack, *(known.get(label) for label in labels)), dict.fromkeys(values, 0))
            for name, value in values.items():
                at[name] += value
        return found

    def function(self, name):
        f = next(f for f in self.functions.values() if self.text[f.name] == name)
        return self.text[f.filename], f.start_line
