/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of roles. A new role needs a row here and one in tests/py/cli/test_roles.py. */
#include "model/parts/roles.h"

#include <stddef.h>

/* clang-format off */
const struct sp_role_rule sp_process_roles[] = {
    /* pytest-xdist; execnet executes the module xdist.remote under another name */
    {"pytest worker", "__channelexec__:WorkerInteractor.pytest_sessionstart", NULL, false},
    {"pytest worker", "__channelexec__:WorkerInteractor.pytest_runtestloop", NULL, false},
    {"pytest controller", "xdist.dsession:DSession.pytest_runtestloop", NULL, false},
    /* servers */
    {"gunicorn worker", "gunicorn.workers.base:Worker.init_process", NULL, false},
    {"gunicorn master", "gunicorn.arbiter:Arbiter.run", NULL, false},
    {"uvicorn worker", "uvicorn._subprocess:subprocess_started", NULL, false},
    {"uvicorn supervisor", "uvicorn.supervisors.multiprocess:Multiprocess.run", NULL, false},
    {"uvicorn reloader", "uvicorn.supervisors.basereload:BaseReload.run", NULL, true},
    {"uvicorn server", "uvicorn.main:run", NULL, false},
    /* celery */
    {"celery prefork child", "celery.concurrency.prefork:process_initializer", NULL, false},
    {"billiard Pool worker", "billiard.pool:Worker.workloop", NULL, false},
    {"celery main process", "celery.worker.worker:WorkController.start", NULL, false},
    {"celery beat", "celery.beat:Service.start", NULL, false},
    /* dask */
    {"dask worker", "distributed.nanny:WorkerProcess._run", NULL, false},
    {"dask worker", "distributed.cli.dask_worker:main", "* --no-nanny*", false},
    {"dask nanny", "distributed.cli.dask_worker:main", NULL, true},
    {"dask scheduler", "distributed.cli.dask_scheduler:main", NULL, false},
    /* ray */
    {"ray worker", NULL, "*/ray/*/default_worker.py *", false},
    {"ray log monitor", NULL, "*/ray/*/log_monitor.py *", true},
    {"ray monitor", NULL, "*/ray/autoscaler/_private/monitor.py *", true},
    {"ray dashboard", NULL, "*/ray/dashboard/dashboard.py *", true},
    {"ray agent", NULL, "*/ray/dashboard/agent.py *", true},
    /* PyTorch */
    {"DataLoader worker", "torch.utils.data._utils.worker:_worker_loop", NULL, false},
    {"torchrun launcher", "torch.distributed.run:main", NULL, true},
    /* loky, of joblib and without it */
    {"loky worker", "joblib.externals.loky.process_executor:_process_worker", NULL, false},
    {"loky worker", "loky.process_executor:_process_worker", NULL, false},
    {"loky worker", NULL, "* -m *loky.backend.popen_loky_posix *", false},
    {"resource tracker", "joblib.externals.loky.backend.resource_tracker:main", NULL, true},
    {"resource tracker", "loky.backend.resource_tracker:main", NULL, true},
    {"resource tracker", NULL, "*from *loky.backend.resource_tracker import main;*", true},
    /* the standard library */
    {"ProcessPoolExecutor worker", "concurrent.futures.process:_process_worker", NULL, false},
    {"Pool worker", "multiprocessing.pool:worker", NULL, false},
    {"multiprocessing manager", "multiprocessing.managers:BaseManager._run_server", NULL, false},
    {"resource tracker", "multiprocessing.resource_tracker:main", NULL, true},
    {"resource tracker", NULL, "*from multiprocessing.resource_tracker import main;*", true},
    {"forkserver", "multiprocessing.forkserver:main", NULL, true},
    {"forkserver", NULL, "*from multiprocessing.forkserver import main;*", true},
    {"multiprocessing process", "multiprocessing.process:BaseProcess._bootstrap", NULL, false},
    {"multiprocessing process", NULL, "*from multiprocessing.spawn import spawn_main;*", false},
    {NULL, NULL, NULL, false},
};

const struct sp_role_rule sp_thread_roles[] = {
    /* the standard library */
    {"ThreadPoolExecutor worker", "concurrent.futures.thread:_worker", NULL, false},
    {"ThreadPoolExecutor worker", NULL, "ThreadPoolExecutor-*_*", false},
    {"executor manager", "concurrent.futures.process:_ExecutorManagerThread.run", NULL, true},
    {"executor manager", NULL, "ExecutorManagerThread", true},
    {"ThreadPool worker", "multiprocessing.pool:worker", NULL, false},
    {"Pool's worker watcher", "multiprocessing.pool:Pool._handle_workers", NULL, true},
    {"Pool's task feeder", "multiprocessing.pool:Pool._handle_tasks", NULL, true},
    {"Pool's result reader", "multiprocessing.pool:Pool._handle_results", NULL, true},
    {"queue feeder", "multiprocessing.queues:Queue._feed", NULL, true},
    {"queue feeder", NULL, "QueueFeederThread", true},
    {"manager's accepter", "multiprocessing.managers:Server.accepter", NULL, true},
    {"manager's request handler", "multiprocessing.managers:Server.handle_request", NULL, false},
    {"socketserver request", "socketserver:ThreadingMixIn.process_request_thread", NULL, false},
    {"log listener", "logging.handlers:QueueListener._monitor", NULL, true},
    {"timer", "threading:Timer.run", NULL, false},
    {"asyncio executor shutdown", "asyncio.base_events:BaseEventLoop._do_shutdown", NULL, true},
    /* loky, of joblib and without it */
    {"executor manager", "joblib.externals.loky.process_executor:_ExecutorManagerThread.run", NULL, true},
    {"executor manager", "loky.process_executor:_ExecutorManagerThread.run", NULL, true},
    {"queue feeder", "joblib.externals.loky.backend.queues:Queue._feed", NULL, true},
    {"queue feeder", "loky.backend.queues:Queue._feed", NULL, true},
    /* pytest-xdist */
    {"execnet receiver", "execnet.gateway_base:BaseGateway._thread_receiver", NULL, true},
    {"execnet terminator", "execnet.multi:safe_terminate.<locals>.termkill", NULL, true},
    {"execnet terminator", "execnet.multi:Group.terminate.<locals>.join_wait", NULL, true},
    /* servers */
    {"gunicorn reloader", "gunicorn.reloader:Reloader.run", NULL, true},
    {"gunicorn control socket", "gunicorn.ctl.server:ControlSocketServer._run_loop", NULL, true},
    {"uvicorn health check", "uvicorn.supervisors.multiprocess:Process.always_pong", NULL, true},
    {"gevent thread pool worker", "gevent.threadpool:_WorkerGreenlet.run", NULL, false},
    /* celery */
    {"celery timer", "celery.utils.timer2:Timer.run", NULL, true},
    {"Pool's worker watcher", "billiard.pool:Supervisor.body", NULL, true},
    {"Pool's task feeder", "billiard.pool:TaskHandler.body", NULL, true},
    {"Pool's result reader", "billiard.pool:ResultHandler.body", NULL, true},
    {"Pool's timeout watcher", "billiard.pool:TimeoutHandler.body", NULL, true},
    /* dask */
    {"dask task thread", "distributed.threadpoolexecutor:_worker", NULL, false},
    {"dask thread pool worker", "distributed._concurrent_futures_thread:_worker", NULL, false},
    {"dask profiler", "distributed.profile:_watch", NULL, true},
    {"dask process watcher", "distributed.process:AsyncProcess._watch_process", NULL, true},
    {"dask message watcher", "distributed.process:AsyncProcess._watch_message_queue", NULL, true},
    {"dask parent watcher", "distributed.process:AsyncProcess._immediate_exit_when_closed.<locals>.monitor_parent", NULL, true},
    {"dask stop watcher", "distributed.nanny:WorkerProcess._run.<locals>.watch_stop_q", NULL, true},
    {"dask event loop", "distributed.utils:LoopRunner._start_unlocked.<locals>.run_loop", NULL, false},
    /* ray */
    {"ray log printer", NULL, "ray_print_logs", true},
    {"ray error listener", NULL, "ray_listen_error_messages", true},
    /* PyTorch, TensorBoard */
    {"DataLoader pin memory thread", "torch.utils.data._utils.pin_memory:_pin_memory_loop", NULL, true},
    {"TensorBoard writer", "tensorboard.summary.writer.event_file_writer:_AsyncWriterThread.run", NULL, true},
    /* notebooks */
    {"ZeroMQ garbage collector", "zmq.utils.garbage:GarbageCollectorThread.run", NULL, true},
    {"kernel heartbeat", "ipykernel.heartbeat:Heartbeat.run", NULL, true},
    {"kernel output", "ipykernel.iostream:IOPubThread._thread_main", NULL, true},
    {"kernel output watcher", "ipykernel.iostream:OutStream._watch_pipe_fd", NULL, true},
    {"kernel parent watcher", "ipykernel.parentpoller:ParentPollerUnix.run", NULL, true},
    {"kernel control", NULL, "Control", true},
    {"history saver", NULL, "IPythonHistorySavingThread", true},
    /* progress bars */
    {"tqdm monitor", "tqdm._monitor:TMonitor.run", NULL, true},
    {NULL, NULL, NULL, false},
};
/* clang-format on */

const struct sp_thread_wrapper sp_thread_wrappers[] = {
    {"threading:Thread._bootstrap", "_bootstrap_inner"},
    {"threading:Thread._bootstrap_inner", "run"},
    {"threading:Thread.run", NULL},
    {"execnet.gateway_base:WorkerPool._perform_spawn", "run"},
    {"execnet.gateway_base:Reply.run", NULL},
    {NULL, NULL},
};
