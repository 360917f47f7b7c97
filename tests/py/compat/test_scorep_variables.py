# SPDX-License-Identifier: BSD-3-Clause
"""The variables SCOREP_*: their effects, and messages for invalid values."""

import pytest
from scorep_helpers import configuration, measured, program, results, run


def settings(environment, instrument=True, io=None, mpi=False):
    from spartito.compat.scorep.variables import Variables

    return Variables(environment).settings(instrument, io, mpi)


def test_defaults():
    found = settings({})
    assert found["scorep"] == found["instrument"] == "1"
    assert found["trace"] == found["io"] == "0"
    assert found["trace_memory"] == str(16000 << 10)
    assert found["profile_depth"] == "100"
    assert found["clock"] == "auto"
    assert found["metrics"] == found["filter"] == found["executable"] == ""


@pytest.mark.parametrize(
    ("variable", "value", "setting", "text"),
    [
        ("SCOREP_ENABLE_TRACING", "true", "trace", "1"),
        ("SCOREP_ENABLE_TRACING", "Yes", "trace", "1"),
        ("SCOREP_ENABLE_TRACING", "1", "trace", "1"),
        ("SCOREP_ENABLE_TRACING", "off", "trace", "0"),
        ("SCOREP_ENABLE_TRACING", "0", "trace", "0"),
        ("SCOREP_ENABLE_TRACING", "", "trace", "0"),
        ("SCOREP_TOTAL_MEMORY", "2000k", "trace_memory", str(2000 << 10)),
        ("SCOREP_TOTAL_MEMORY", "64M", "trace_memory", str(64 << 20)),
        ("SCOREP_TOTAL_MEMORY", "2g", "trace_memory", str(2 << 30)),
        ("SCOREP_TOTAL_MEMORY", "4000000", "trace_memory", "4000000"),
        ("SCOREP_PROFILING_MAX_CALLPATH_DEPTH", "7", "profile_depth", "7"),
        ("SCOREP_TIMER", "tsc", "clock", "tsc"),
        ("SCOREP_TIMER", "gettimeofday", "clock", "monotonic"),
        ("SCOREP_TIMER", "clock_gettime", "clock", "monotonic"),
        ("SCOREP_METRIC_RUSAGE", "ru_utime, ru_maxrss", "metrics", "rusage:ru_utime,rusage:ru_maxrss"),
        ("SCOREP_METRIC_PAPI", "PAPI_TOT_CYC,PAPI_L1_DCM", "metrics", "papi:PAPI_TOT_CYC,papi:PAPI_L1_DCM"),
        ("SCOREP_METRIC_PERF", "cycles", "metrics", "perf:cycles"),
        ("SCOREP_MACHINE_NAME", "big iron", "machine", "big iron"),
        ("SCOREP_EXECUTABLE", "/opt/solver", "executable", "/opt/solver"),
        ("SCOREP_IO_POSIX", "true", "io", "1"),
    ],
)
def test_each(variable, value, setting, text):
    assert settings({variable: value})[setting] == text


def test_separators_and_all():
    environment = {
        "SCOREP_METRIC_RUSAGE": "ru_utime:ru_stime", "SCOREP_METRIC_RUSAGE_SEP": ":",
        "SCOREP_METRIC_PERF": "cycles;instructions", "SCOREP_METRIC_PERF_SEP": ";",
    }
    assert settings(environment)["metrics"] == "rusage:ru_utime,rusage:ru_stime,perf:cycles,perf:instructions"
    every = settings({"SCOREP_METRIC_RUSAGE": "all"})["metrics"].split(",")
    assert len(every) == 16 and "rusage:ru_nivcsw" in every


def test_options_before_variables():
    assert settings({"SCOREP_IO_POSIX": "true"}, io=False)["io"] == "0"
    assert settings({}, io=True)["io"] == "1"
    assert settings({}, instrument=False)["instrument"] == "0"


def test_groups_of_mpi():
    assert settings({})["mpi"] == settings({"SCOREP_MPI_ENABLE_GROUPS": "all"})["mpi"] == "off"
    assert settings({}, mpi=True)["mpi"] == "default"
    assert settings({"SCOREP_MPI_ENABLE_GROUPS": "P2P coll:xnonblock,~coll"}, mpi=True)["mpi"] == "p2p,coll,xnonblock,~coll"
    assert settings({"SCOREP_MPI_ENABLE_GROUPS": "none"}, mpi=True)["mpi"] == "none"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("SCOREP_ENABLE_PROFILING", "maybe"),
        ("SCOREP_ENABLE_TRACING", "tru"),
        ("SCOREP_OVERWRITE_EXPERIMENT_DIRECTORY", "-1"),
        ("SCOREP_VERBOSE", "loud"),
        ("SCOREP_MPI_ENABLE_GROUPS", "p2p,kol"),
        ("SCOREP_IO_POSIX", "2x"),
        ("SCOREP_TOTAL_MEMORY", "much"),
        ("SCOREP_TOTAL_MEMORY", "-5M"),
        ("SCOREP_TOTAL_MEMORY", "16 000k"),
        ("SCOREP_TOTAL_MEMORY", "1k"),
        ("SCOREP_PROFILING_MAX_CALLPATH_DEPTH", "deep"),
        ("SCOREP_PROFILING_BASE_NAME", "a/b"),
        ("SCOREP_TIMER", "sundial"),
        ("SCOREP_METRIC_RUSAGE", "ru_utime,ru_time"),
        ("SCOREP_METRIC_RUSAGE_SEP", "::"),
        ("SCOREP_METRIC_PERF", "cpu/x,y/"),
        ("SCOREP_FILTERING_FILE", "no/such/file"),
        ("SCOREP_MEMORY_RECORDING", "perhaps"),
        ("SCOREP_ENABLE_UNWINDING", "perhaps"),
        ("SCOREP_MPI_MEMORY_RECORDING", "perhaps"),
    ],
)
def test_unreadable_values_are_named_before_the_program_starts(tmp_path, variable, value):
    program(tmp_path, "print('ran')")
    env = {variable: value}
    if variable == "SCOREP_METRIC_PERF":
        env["SCOREP_METRIC_PERF_SEP"] = ";"
    done = run(tmp_path, "program.py", env=env)
    assert done.returncode != 0 and done.stdout == ""
    assert done.stderr.startswith(f"scorep: {variable}: ") and done.stderr.count("\n") == 1
    assert repr(value.split(",")[-1] if "RUSAGE" in variable else value) in done.stderr
    assert not results(tmp_path)


def test_configuration_is_what_a_shell_reads(tmp_path):
    name = 'pro"file $HOME'
    experiment = measured(tmp_path, "", env={"SCOREP_PROFILING_BASE_NAME": name, "SCOREP_TOTAL_MEMORY": "20M"})
    import subprocess

    text = 'set -e; . ./scorep.cfg; printf %s "$SCOREP_PROFILING_BASE_NAME"'
    assert subprocess.run(["sh", "-c", text], cwd=experiment, capture_output=True, text=True).stdout == name
    assert (experiment / f"{name}.cubex").exists()
    found = configuration(experiment)
    assert found["SCOREP_ENABLE_PROFILING"] == "true" and found["SCOREP_ENABLE_TRACING"] == "false"
    assert found["SCOREP_TOTAL_MEMORY"] == "20M"
    assert found["SCOREP_EXPERIMENT_DIRECTORY"] == f'"{experiment}"'


def test_machine_and_executable_are_recorded(tmp_path):
    experiment = measured(tmp_path, "", env={"SCOREP_MACHINE_NAME": "big iron", "SCOREP_EXECUTABLE": "/opt/solver"})
    (raw,) = (experiment / "raw").glob("*.raw")
    data = raw.read_bytes()
    assert b"machinebig iron" in data and b"executable/opt/solver" in data


def test_memory_is_for_each_process(tmp_path):
    source = """\
        def f(): pass
        for _ in range(200000): f()
    """
    env = {"SCOREP_TOTAL_MEMORY": "300k", "SCOREP_ENABLE_TRACING": "true", "SCOREP_ENABLE_PROFILING": "true"}
    from scorep_helpers import visits

    assert visits(measured(tmp_path, source, env=env))["__main__:f"] == 200000


def test_depth_of_the_profile(tmp_path):
    source = """\
        def f(n):
            if n: f(n - 1)
        f(50)
    """
    import pycubexr

    def depth(cnode):
        return 1 + max(map(depth, cnode.get_children()), default=0)

    deepest = []
    for i, limit in enumerate(("10", "100")):
        (tmp_path / str(i)).mkdir()
        experiment = measured(tmp_path / str(i), source, env={"SCOREP_PROFILING_MAX_CALLPATH_DEPTH": limit})
        with pycubexr.CubexParser(str(experiment / "profile.cubex")) as cube:
            deepest.append(max(map(depth, cube.get_root_cnodes())))
    assert deepest[0] <= 13 and deepest[1] >= 51


NO_VARIABLE = " is no variable of Score-P and has no effect"


@pytest.mark.parametrize(
    ("environment", "lines"),
    [
        ({"SCOREP_SUBSTRATE_PLUGINS": "x"}, ["SCOREP_SUBSTRATE_PLUGINS has no effect here"]),
        ({"SCOREP_PROFILING_FORMAT": "thread", "SCOREP_PAGE_SIZE": "8k", "SCOREP_OPENMP_TARGET_BUFFERS": "1"},
         ["SCOREP_OPENMP_TARGET_BUFFERS, SCOREP_PAGE_SIZE, SCOREP_PROFILING_FORMAT have no effect here"]),
        ({"SCOREP_MEMORY_RECORDING": "yes"}, ["SCOREP_MEMORY_RECORDING has no effect here"]),
        ({"SCOREP_ENABLE_TRACE": "1"}, [f"SCOREP_ENABLE_TRACE{NO_VARIABLE}; did you mean SCOREP_ENABLE_TRACING?"]),
        ({"SCOREP_METRIC_RUSGAE": "all"}, [f"SCOREP_METRIC_RUSGAE{NO_VARIABLE}; did you mean SCOREP_METRIC_RUSAGE?"]),
        ({"SCOREP_MPI_ENABLE_GRUOPS": "p2p"}, [f"SCOREP_MPI_ENABLE_GRUOPS{NO_VARIABLE}; did you mean SCOREP_MPI_ENABLE_GROUPS?"]),
        ({"SCOREP_FOO": "1"}, [f"SCOREP_FOO{NO_VARIABLE}"]),
        ({"SPARTITO_TRACE_MEMROY": "1G"},
         ["the variable SPARTITO_TRACE_MEMROY is not known and not used; did you mean SPARTITO_TRACE_MEMORY?"]),
        ({"SPARTITO_XYZZY": "1"}, ["the variable SPARTITO_XYZZY is not known and not used"]),
        # settings that are off, or do not concern the measurement
        ({"SCOREP_MEMORY_RECORDING": "off", "SCOREP_PAGE_SIZE": "", "SCOREP_WRAPPER": "off", "SCOREP_ROOT": "/opt/scorep",
          "SCOREP_PYTHON_BINDINGS_INITIALISED": "true", "SPARTITO_TRACE": "0"}, []),
    ],
)  # fmt: skip
def test_what_is_set_in_vain(environment, lines):
    from spartito.compat.scorep.variables import Variables

    assert Variables(environment).notes == lines


def test_variables_without_effect_are_reported_once(tmp_path):
    env = {"SCOREP_SUBSTRATE_PLUGINS": "x", "SCOREP_ENABLE_TRACE": "1", "SPARTITO_TRACE_MEMROY": "1G"}
    message = (
        "scorep: SCOREP_SUBSTRATE_PLUGINS has no effect here\n"
        f"scorep: SCOREP_ENABLE_TRACE{NO_VARIABLE}; did you mean SCOREP_ENABLE_TRACING?\n"
        "scorep: the variable SPARTITO_TRACE_MEMROY is not known and not used; did you mean SPARTITO_TRACE_MEMORY?\n"
    )
    measured(tmp_path, "import scorep; scorep.register()", env=env, stderr=message)
    program(tmp_path, "import scorep; scorep.register()")
    import subprocess
    import sys

    from scorep_helpers import environment

    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, env=environment(**env), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, message)
