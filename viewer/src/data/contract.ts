// SPDX-License-Identifier: BSD-3-Clause
// Made by `npm run contract` from src/view/contract.json.

/** Rows at most; default and 0: as many as the kind gives by itself. */
export type RowLimit = number;
/** Index of what is selected; default: all. */
export type ProcessIndex = number;
/** A column of 64-bit reals. */
export type F64 = Float64Array;
/** Index of what is selected; default: all. */
export type LocationIndex = number;
/** Where the selected range of time begins (s); default: at the begin of the run. */
export type RangeBegin = number;
/** Where it ends (s); default: at the end of the run. */
export type RangeEnd = number;
/** A column of 32-bit numbers, often indices; 0xffffffff: none. */
export type U32 = Uint32Array;
/** A column of bytes. */
export type U8 = Uint8Array;
/** A column of 32-bit reals. */
export type F32 = Float32Array;
/** Ranges in ascending order, such as 0-99,200-299: only these of the locations that are selected; default: all. */
export type RowList = string;
/** first-last: only these of the locations that are selected; default: all. */
export type RowRange = string;
/** A column of signed 32-bit numbers. */
export type I32 = Int32Array;

/** The viewer's questions and the answers to them: for each kind of question its parameters, and of the answer (src/view/columns.h) the meta object and the columns. All columns of an answer have equally many rows, unless said otherwise. Times are in s, points in time since the experiment's begin; process, location, region are indices. Any kind takes of=base, which asks the run that this one is compared with. `make docs` makes the docstring of spartito.view.kinds and viewer/src/data/contract.ts from this file; tests/py/view/test_contract.py holds answers against it. */
export interface Answers {
  /** What the first screen tells of a run. */
  facts: {
    parameters: {};
    meta: Facts;
    columns: {};
  };
  /** What changed since the run that this one is compared with. */
  compare: {
    parameters: {};
    meta: {
      base: BaseFacts;
      /** what changed */
      sentences: string[];
      /** the region that each sentence is about, null: no single one */
      about: (number | null)[];
      /** sentences: in what else than the program the two runs differ */
      unlike: string[];
      /** sentences: what measuring took in each */
      costs: string[];
      /** how they were recorded differently, in a few words; empty: alike */
      headline: string;
      /** of each process of the other run, its index here; null: it has no counterpart */
      processes: (number | null)[];
      /** of each location of the other run, its index here; null: it has no counterpart */
      locations: (number | null)[];
      /** of functions of the other run whose names differ: what they are called here */
      names: {
        [k: string]: string;
      };
    };
    columns: {};
  };
  /** What costs most and can be changed, the largest share first, as `spartito report findings` has it (docs/findings.md). */
  findings: {
    parameters: {};
    meta: {
      findings: Finding[];
      /** sentences: what could not be searched */
      notes: string[];
    };
    columns: {};
  };
  /** What importing modules cost, as `spartito report imports` has it. */
  imports: {
    parameters: {};
    meta: {
      /** the first one is the program, its incl the time of all imports; an importer comes before what it imports */
      modules: ImportedModule[];
      /** time in functions of all locations together (s) */
      busy: number;
    };
    columns: {};
  };
  /** Whose code took the running time, as `spartito report own` has it: the program's own code, with the functions of others that it led to. */
  own: {
    parameters: {};
    meta: {
      parts: OwnPart[];
      /** top-level packages of libraries, the longest first; time (s) */
      packages: {
        name: string;
        time: number;
      }[];
      /** without imports; the first one, without a name, is what no own function called; the others by sum */
      rows: OwnRow[];
      /** sentences: why whose code it is remains uncertain */
      notes: string[];
    };
    columns: {};
  };
  /** Time lost by waiting in MPI (src/model/mpi/waits.h). */
  waits: {
    parameters: {};
    meta: Waits;
    columns: {};
  };
  /** Off-CPU time by function and kind, the longest first, as `spartito report waits` has it. */
  offcpu: {
    parameters: {};
    meta: {
      rows: OffCpu[];
      /** time in which the threads waited (s) */
      waited: number;
      /** time in functions of all locations together (s) */
      busy: number;
      /** call paths with a smaller share of the time are not in rows; 0: all are */
      least: number;
    };
    columns: {};
  };
  /** What the run's length consists of (src/model/mpi/critical.h). */
  critical: {
    parameters: {
      /** part of its time on the path that a region is thought to lose; default: 0.1 */
      share?: number;
    };
    meta: Critical;
    columns: {};
  };
  /** What was read from and written to files, those with the most time first. */
  io: {
    parameters: {};
    meta: {
      files: FileUse[];
    };
    columns: {};
  };
  /** Tasks of asyncio and the like: when they ran, and what they waited for. */
  tasks: {
    parameters: {
      limit?: RowLimit;
    };
    meta: Tasks;
    columns: {};
  };
  /** What threads waited for, and the lock holders: the longest waits (spartito.view.locks). */
  locks: {
    parameters: {};
    meta: Locks;
    columns: {};
  };
  /** The heap of each process over time, and what was allocated where (spartito.view.memory). */
  memory: {
    parameters: {
      process?: ProcessIndex;
    };
    meta: Memory;
    columns: {
      /** s */
      at: F64;
      /** bytes that are allocated */
      heap: F64;
      /** bytes of the process that are in memory */
      resident: F64;
    };
  };
  /** What was done in each line of functions whose lines were recorded, the functions with the most time first. */
  lines: {
    parameters: {
      process?: ProcessIndex;
      location?: LocationIndex;
      begin?: RangeBegin;
      end?: RangeEnd;
    };
    meta: {
      functions: LineFunction[];
      /** a sentence, where begin or end was given: the trace does not hold lines, so these are of the whole run */
      unclipped?: string;
      /** a sentence, of a compared run: why functions have no base */
      base_none?: string;
    };
    columns: {};
  };
  /** The text of a source file. */
  source: {
    parameters: {
      /** index in meta.files of regions */
      file: number;
    };
    meta: {
      /** its path */
      file: string;
      /** what is in it */
      text?: string;
      /** a sentence about the text, such as that the file has changed since; or empty */
      remark?: string;
      /** a sentence instead of text and remark: why there is no text */
      missing?: string;
    };
    columns: {};
  };
  /** Row i is region i of all other kinds; row 0 is the root. */
  regions: {
    parameters: {};
    meta: {
      /** module:function */
      names: string[];
      /** the function's qualified name */
      qualnames: string[];
      modules: string[];
      files: string[];
      /** as Model.flat() names them */
      kinds: string[];
      /** of a compared run: files whose functions were found again under another name */
      renamed?: Renamed[];
      /** the same of modules */
      renamed_modules?: Renamed[];
    };
    columns: {
      /** the first line; 0: not known */
      line: U32;
      /** index in kinds */
      kind: U8;
      /** 1: own code */
      own: U8;
      /** index in modules */
      module: U32;
      /** index in files */
      file: U32;
      /** of a compared run, a row for each of its regions: which one it is here */
      of_base?: U32;
    };
  };
  /** The call paths, a caller before its callees, those of one caller by inclusive time. No more than limit paths (default: 200,000), those with the most inclusive time, or with the most of the metric: what is left out below a caller is one row behind its callees, with region and path none, hidden: how many paths that is, visits: the calls from the caller itself, and incl = excl: their time. The excl of all rows together is the total. Compared, paths that only the other run has are rows, too, and the larger of both inclusive times decides on order and limit. */
  tree: {
    parameters: {
      process?: ProcessIndex;
      location?: LocationIndex;
      begin?: RangeBegin;
      end?: RangeEnd;
      limit?: RowLimit;
      /** name of a metric: its columns are there, and decide on order and limit */
      metric?: string;
    };
    meta: {
      /** inclusive time of the root (s): that of what is selected */
      total: number;
      /** begin or end was given: times are those within the range; visits, min, max and std those of the calls that ended in it, at their full length */
      clipped: boolean;
      /** compared, if both runs know it: s in which threads were preempted, which incl and excl do not contain */
      preempted?: number;
      /** that of the other run (s) */
      base_preempted?: number;
      /** the other run's total (s), where it has a counterpart of what is selected */
      base_total?: number;
      /** a sentence: why there are no columns of the other run */
      base_none?: string;
      /** how many there are */
      paths: number;
      /** how many of them have rows */
      shown: number;
      /** of calls with values of parameters: the values */
      labels?: string[];
    };
    columns: {
      /** row of the caller, none: nobody */
      parent: U32;
      region: U32;
      /** calls; 0 in all rows of samples */
      visits: F64;
      /** inclusive time (s) */
      incl: F64;
      /** exclusive time (s) */
      excl: F64;
      /** number of paths that this row represents */
      hidden: U32;
      /** of the model */
      path: U32;
      /** calls that were resumed after a yield or an await, where there were any */
      resumed?: F64;
      /** s of incl in which the threads ran; where times are split, and neither compared nor with a metric */
      running?: F64;
      /** 1: part of an import, from a function of the import system down, without modules of the program; where anything was imported */
      imported?: U8;
      /** index in labels, where calls have values of parameters */
      label?: U32;
      /** of the other run, 0 where it has no such path */
      base_visits?: F64;
      /** s */
      base_incl?: F64;
      /** s */
      base_excl?: F64;
    };
  };
  /** One row for each region that ran, by running time, or by exclusive time if that is not split; compared, the larger of both exclusive times decides. */
  flat: {
    parameters: {
      process?: ProcessIndex;
      location?: LocationIndex;
      begin?: RangeBegin;
      end?: RangeEnd;
      limit?: RowLimit;
    };
    meta: {
      /** inclusive time of the root (s): that of what is selected */
      total: number;
      /** begin or end was given: times are those within the range; visits, min, max and std those of the calls that ended in it, at their full length */
      clipped: boolean;
      /** compared, if both runs know it: s in which threads were preempted, which incl and excl do not contain */
      preempted?: number;
      /** that of the other run (s) */
      base_preempted?: number;
      /** the other run's total (s), where it has a counterpart of what is selected */
      base_total?: number;
      /** a sentence: why there are no columns of the other run */
      base_none?: string;
      /** how many ran */
      functions: number;
      /** within a range of time: metrics that have no columns, as their values are not in the trace */
      unranged?: string[];
    };
    columns: {
      region: U32;
      /** calls */
      visits: F64;
      /** inclusive time (s), recursion counts once */
      incl: F64;
      /** exclusive time (s) */
      excl: F64;
      /** of the inclusive time of a call (s) */
      mean: F64;
      /** s */
      min: F64;
      /** s */
      max: F64;
      /** s */
      std: F64;
      /** calls that were resumed after a yield or an await, where there were any */
      resumed?: F64;
      /** s of excl in which the threads ran; where times are split into running and waiting (measured, or estimated from samples) and not compared */
      running?: F64;
      /** s of excl in which the threads waited, where there is running */
      waiting?: F64;
      /** s of running, or of excl if that is not split, in imports without modules of the program; where there were any */
      imported?: F64;
      /** of the other run, 0 where it has no such region */
      base_visits?: F64;
      /** s */
      base_incl?: F64;
      /** s */
      base_excl?: F64;
    };
  };
  /** The calls of one location that touch the range, by depth and begin. A call that is at least a pixel wide has a separate row, with its begin and end. Those that are narrower share a row of at most a pixel. */
  timeline: {
    parameters: {
      location: LocationIndex;
      begin?: RangeBegin;
      end?: RangeEnd;
      /** default: 1000; at most 16384 */
      pixels?: number;
      /** depths from this one on are left out; default: 256 */
      levels?: number;
    };
    meta: {
      /** that of the deepest call, plus 1; 0: no calls */
      depth: number;
      /** each row is one call, and none is left out */
      exact: boolean;
      /** s */
      begin: number;
      /** s */
      end: number;
    };
    columns: {
      /** s */
      begin: F64;
      /** s */
      end: F64;
      /** 0: called by nobody */
      depth: U32;
      /** of a shared row the one with the most time */
      region: U32;
      /** how many begin or end in this row */
      calls: U32;
      /** share of the row's time in calls */
      busy: F32;
    };
  };
  /** All locations that are selected, each divided into pixels equal parts of the range. For each part in which something ran or happened, by location and part: what ran there. Of parts with many events as summaries know them: the share is at least that. */
  overview: {
    parameters: {
      process?: ProcessIndex;
      location?: LocationIndex;
      begin?: RangeBegin;
      end?: RangeEnd;
      rows?: RowList;
      /** default: 1000 */
      pixels?: number;
      /** number of groups, if there are more locations; neighbours share a group: the k-th of n locations is in group k * groups / n */
      limit?: number;
    };
    meta: {
      /** locations selected */
      rows: number;
      groups: number;
      pixels: number;
      /** s */
      begin: number;
      /** s */
      end: number;
    };
    columns: {
      /** the first one of its group */
      location: U32;
      /** index of the part */
      bucket: U32;
      /** the one that was innermost for the longest time; none: no call was open */
      region: U32;
      /** of the part's time in which it was, of all in the group */
      share: F32;
      /** recorded in the part */
      events: U32;
      /** of the part's time in which the location waited; of a group the mean */
      waiting: F32;
      /** of the part's time in which a call was open, the mean of the group; where locations share a group */
      open?: F32;
    };
  };
  /** What samples have found in the locations that are selected, each divided into pixels equal parts of the range. By location and part; parts without samples have no row. A sample counts until the next one, at most two periods. */
  states: {
    parameters: {
      process?: ProcessIndex;
      location?: LocationIndex;
      begin?: RangeBegin;
      end?: RangeEnd;
      rows?: RowList;
      /** default: 1000 */
      pixels?: number;
      /** if it is given, all locations share one row for each part, with the means of their shares, the path none, and the samples of all */
      limit?: number;
    };
    meta: {
      /** locations selected */
      rows: number;
      pixels: number;
      /** s */
      begin: number;
      /** s */
      end: number;
    };
    columns: {
      location: U32;
      /** index of the part */
      bucket: U32;
      /** of the model: the one found longest; none: no function */
      path: U32;
      /** samples that began there */
      samples: U32;
      /** share of the part's time */
      running: F32;
      /** waiting for the GIL */
      gil: F32;
      /** in the kernel */
      syscall: F32;
      idle: F32;
      /** waiting for the lock of an object, in a Python without the GIL */
      object_lock: F32;
      /** stopped by another thread, in a Python without the GIL */
      stopped: F32;
    };
  };
  /** When tasks ran, by task, thread and begin. A step that is at least a pixel wide has a separate row; others share one, as in timeline. */
  steps: {
    parameters: {
      process?: ProcessIndex;
      location?: LocationIndex;
      begin?: RangeBegin;
      end?: RangeEnd;
      /** default: 1000 */
      pixels?: number;
      /** first-last of the tasks selected; default: the first 1000 */
      rows?: string;
    };
    meta: {
      /** selected */
      tasks: number;
      /** s */
      begin: number;
      /** s */
      end: number;
    };
    columns: {
      /** the id of kind tasks */
      task: U32;
      /** s */
      begin: F64;
      /** s */
      end: F64;
      steps: U32;
      /** share of the row's time */
      busy: F32;
    };
  };
  /** The markers in the range, by time. */
  markers: {
    parameters: {
      process?: ProcessIndex;
      location?: LocationIndex;
      begin?: RangeBegin;
      end?: RangeEnd;
      /** default: 10,000 */
      limit?: number;
    };
    meta: {
      /** one for each row */
      texts: string[];
      /** markers beyond the limit */
      hidden: number;
    };
    columns: {
      location: U32;
      /** s */
      time: F64;
    };
  };
  /** The values that the program gave to counters, by location and counter. The values within each of the equal parts of the range are one row; the first row of each is the last value before the range. */
  counters: {
    parameters: {
      process?: ProcessIndex;
      location?: LocationIndex;
      begin?: RangeBegin;
      end?: RangeEnd;
      /** equal parts that the range is divided into */
      pixels?: number;
      /** of one of them; default: all */
      name?: string;
    };
    meta: {
      names: string[];
    };
    columns: {
      location: U32;
      /** index in names */
      counter: U32;
      /** s, of the first value of the row */
      at: F64;
      min: F64;
      max: F64;
      mean: F64;
      /** how many */
      values: U32;
    };
  };
  /** The metrics that are read at each enter and leave, by location and metric. Of the readings within each of the equal parts of the range the last one is a row; the first row is the last reading before the range, or the first of all, the last row the first one behind it. low and high are those of the single steps between readings where a part has fewer than 512 events, else of the steps of that many events. */
  metrics: {
    parameters: {
      process?: ProcessIndex;
      location?: LocationIndex;
      begin?: RangeBegin;
      end?: RangeEnd;
      /** equal parts that the range is divided into */
      pixels?: number;
      rows?: RowRange;
      /** of one of them; default: all */
      name?: string;
      /** sum: one row for each of the edges of the parts, location none, with the sum over all locations, between readings in proportion to the time; of a level the largest of all */
      over?: "sum";
    };
    meta: {
      /** locations selected */
      rows: number;
      pixels: number;
      /** s */
      begin: number;
      /** s */
      end: number;
    };
    columns: {
      location: U32;
      /** index in the metrics of facts */
      metric: U32;
      /** s */
      at: F64;
      /** since the first reading in the location; of a level its height */
      value: F64;
      /** growth per second since the row before; NaN in a first row */
      low: F64;
      high: F64;
      mean: F64;
    };
  };
  /** The messages of MPI that are under way within the range, by the time of sending; of more than limit the longest. Messages to processes that were not measured are in the matrix alone. */
  messages: {
    parameters: {
      process?: ProcessIndex;
      location?: LocationIndex;
      begin?: RangeBegin;
      end?: RangeEnd;
      /** default: 20,000 */
      limit?: number;
    };
    meta: {
      /** those left out */
      hidden: number;
      /** names of communicators */
      comms: string[];
    };
    columns: {
      /** location */
      from: U32;
      /** location; of a message without a receive the first one of its process */
      to: U32;
      /** s */
      sent: F64;
      /** s; NaN: no receive was found */
      received: F64;
      bytes: F64;
      tag: I32;
      /** index in comms */
      comm: U32;
    };
  };
  /** How the time of regions is spread: a row for each unit and region that ran there, by unit. The rest of a unit is one row, region none, incl = excl. */
  balance: {
    parameters: {
      process?: ProcessIndex;
      location?: LocationIndex;
      begin?: RangeBegin;
      end?: RangeEnd;
      /** this one alone */
      region?: number;
      /** number of regions that have rows, those with the most running time (exclusive, if running time is not known); default: 500, fewer if there are many units */
      regions?: number;
      /** what a unit is; auto (default): the first of the three of which there are two */
      over?: "auto" | "ranks" | "processes" | "threads";
    };
    meta: {
      over: "ranks" | "processes" | "threads";
      /** indices of processes, over threads of locations */
      units: number[];
      /** that have rows */
      regions: number;
      /** exclusive, s */
      total: number;
    };
    columns: {
      /** index in units */
      unit: U32;
      region: U32;
      visits: F64;
      /** s */
      incl: F64;
      /** s */
      excl: F64;
      /** s of excl in which the threads ran, in MPI all of it; where times are split into running and waiting */
      running?: F64;
    };
  };
  /** The communication matrix, of messages that a process or location selected sent or received, and whose sending began in the range. */
  matrix: {
    parameters: {
      process?: ProcessIndex;
      location?: LocationIndex;
      begin?: RangeBegin;
      end?: RangeEnd;
    };
    meta: Matched;
    columns: {
      /** process; none: not measured */
      from: U32;
      /** process; none: not measured */
      to: U32;
      messages: F64;
      /** as sent */
      bytes: F64;
      /** how many receives were found */
      received: F64;
      /** s, of those received, from the begin of the send to the end of the receive */
      time: F64;
    };
  };
}
/** Of a run. Times are in s; begin and end are since the experiment's begin. */
export interface Facts {
  /** what ran */
  title: string;
  /** of the experiment */
  directory: string;
  /** of the program, as it was started */
  command: string[];
  /** of the first process */
  host: string;
  /** how many */
  hosts: number;
  /** seconds since 1970 */
  start: number;
  /** s */
  duration: number;
  /** time in functions of all locations together (s) */
  busy: number;
  /** calls that were measured */
  visits: number;
  regions: number;
  paths: number;
  /** in the trace */
  events: number;
  /** of the raw files */
  bytes: number;
  /** its version */
  python: string;
  /** there is a trace */
  traced: boolean;
  /** where the time goes, in words */
  sentences: string[];
  /** the region that each sentence is about, null: no single one */
  about: (number | null)[];
  /** what colours tell functions apart better: function if one package has 80 % of the running time of the ten functions that ran longest */
  colour: "module" | "function";
  /** What measuring added. */
  cost: {
    /** s for each call, within its exclusive time */
    in: number;
    /** s for each call, within its caller's exclusive time */
    out: number;
    /** s */
    total: number;
    /** of the running time of all locations, or of their time if that is not split */
    share: number;
  };
  /** that cost was taken out of the times */
  compensated: boolean;
  /** sentences: what was not recorded */
  lost: string[];
  /** sentences: what is damaged */
  problems: string[];
  processes: Process[];
  locations: Location[];
  metrics: Metric[];
  has: Has;
  /** with which the run was recorded */
  settings: {
    [k: string]: string;
  };
  /** of viewer, spartito, python, mpi; those that are known */
  versions: {
    [k: string]: string;
  };
  /** sentences, in a page of `spartito html`: what it leaves out to stay within its size limit */
  pruned?: string[];
  /** the page is such a file */
  file?: boolean;
}
export interface Process {
  /** Rank 2 or Process 4711 */
  name: string;
  /** in MPI_COMM_WORLD */
  rank: number | null;
  /** which MPI_COMM_WORLD, of several */
  world: number | null;
  pid: number;
  /** index of the process that started it */
  parent: number | null;
  host: string;
  /** s */
  begin: number;
  /** s */
  end: number;
  ended: "normal" | "stopped" | "abrupt" | "exited" | "exec" | "running";
  command: string;
  /** title of the group of processes with equal roles */
  role: string;
  /** no work of the program ran in it */
  helper: boolean;
}
/** A thread. */
export interface Location {
  /** index */
  process: number;
  name: string;
  /** s */
  begin: number;
  /** s */
  end: number;
  /** time in functions (s) */
  busy: number;
  /** the part of busy on a processor, as far as known (s) */
  running: number;
  /** the part of busy in functions of MPI themselves (s) */
  mpi: number;
  /** title of the group of threads with equal roles; absent: its name */
  role?: string;
  /** no work of the program ran in it */
  helper?: boolean;
}
/** Counted beside the time, in 10**exponent unit. */
export interface Metric {
  name: string;
  unit: string;
  exponent: number;
  what: string;
  /** counted by the function itself, at times that are not in the trace; the others are read at each enter and leave */
  exclusive: boolean;
  /** a height that was reached, not a count */
  level: boolean;
  /** what counted it: rusage, papi, perf, bytes, wait, sample, memory, off_cpu */
  source: string;
  /** of the whole run, as it was counted */
  total: number;
}
/** What the page can show. time: over the run. metrics: read at each enter and leave. waits: of MPI. off_cpu: times are split into running and waiting. */
export interface Has {
  trace: boolean;
  time: boolean;
  states: boolean;
  counters: boolean;
  metrics: boolean;
  lines: boolean;
  mpi: boolean;
  io: boolean;
  locks: boolean;
  memory: boolean;
  tasks: boolean;
  messages: boolean;
  waits: boolean;
  off_cpu: boolean;
  source: boolean;
  compare: boolean;
}
/** Facts of the other run, without its processes and locations. */
export interface BaseFacts {
  /** what ran */
  title: string;
  /** of the experiment */
  directory: string;
  /** of the program, as it was started */
  command: string[];
  /** of the first process */
  host: string;
  /** how many */
  hosts: number;
  /** seconds since 1970 */
  start: number;
  /** s */
  duration: number;
  /** time in functions of all locations together (s) */
  busy: number;
  /** calls that were measured */
  visits: number;
  regions: number;
  paths: number;
  /** in the trace */
  events: number;
  /** of the raw files */
  bytes: number;
  /** its version */
  python: string;
  /** there is a trace */
  traced: boolean;
  /** where the time goes, in words */
  sentences: string[];
  /** What measuring added. */
  cost: {
    /** s for each call, within its exclusive time */
    in: number;
    /** s for each call, within its caller's exclusive time */
    out: number;
    /** s */
    total: number;
    /** of the running time of all locations, or of their time if that is not split */
    share: number;
  };
  /** that cost was taken out of the times */
  compensated: boolean;
  /** sentences: what was not recorded */
  lost: string[];
  /** sentences: what is damaged */
  problems: string[];
  metrics: Metric[];
  has: Has;
  /** with which the run was recorded */
  settings: {
    [k: string]: string;
  };
  /** of viewer, spartito, python, mpi; those that are known */
  versions: {
    [k: string]: string;
  };
}
export interface Finding {
  /** its key in docs/findings.md */
  topic: string;
  /** what costs */
  title: string;
  /** the most that a change could save, in unit */
  saving: number;
  unit: "s" | "B";
  /** the saving as a part of the whole */
  share: number;
  /** the whole: the run, the time of all threads, the peak */
  of: string;
  /** saving and share in words */
  gain: string;
  /** module:function; empty: no single one */
  function: string;
  file: string;
  /** 0: not known */
  line: number;
  /** names of regions, outermost first; empty: no single call path */
  path: string[];
  /** sentences with the numbers */
  evidence: string[];
  /** what to try */
  advice: string;
}
export interface ImportedModule {
  module: string;
  file: string;
  /** of the program, not of a library */
  own: boolean;
  /** index of the module that imports it */
  importer: number;
  /** with the modules that it imports (s) */
  incl: number;
  /** its own statements (s) */
  excl: number;
  /** to find and load the modules that it imports, and compiled modules (s) */
  loading: number;
  /** of incl, the time in which the threads ran (s); all of it if times are not split */
  running_incl: number;
  /** of incl, the time in which they waited (s) */
  waiting_incl: number;
}
export interface OwnPart {
  part: "own" | "libraries" | "standard" | "imports" | "start_end" | "other";
  title: string;
  /** s in which threads ran */
  time: number;
}
/** An own function. Times are s in which threads ran. */
export interface OwnRow {
  /** module:function */
  name: string;
  file: string;
  line: number;
  /** calls; null: not known */
  visits: number | null;
  resumed: number;
  /** in it */
  own: number;
  /** in functions of libraries that it led to, until the next own function */
  libraries: number;
  /** the same of the standard library */
  standard: number;
  /** the same of code that is not known */
  other: number;
  /** it led to calls of own functions, whose time is in their rows */
  calls_own: boolean;
  sum: number;
  /** in which threads waited, in it and in the functions of others that it led to; not in sum */
  waiting: number;
}
export interface Waits {
  metrics: WaitMetric[];
  rows: WaitRow[];
  stacks: Stacks;
  found: Found;
}
/** A sum of kinds of waiting, named as Scalasca names it. */
export interface WaitMetric {
  /** mpi_latesender and the like */
  name: string;
  /** the name for people, such as Late Sender */
  shown: string;
  /** a sentence */
  what: string;
  kinds: number[];
  /** index in metrics; null: a part of the time */
  parent: number | null;
  count: number;
  /** s */
  time: number;
}
/** Waits of one kind at one call path of one location, for one other. */
export interface WaitRow {
  kind: number;
  /** key of stacks */
  path: number;
  /** the one that waited */
  location: number;
  /** the one that waited */
  process: number;
  /** the location that was waited for; null: no single one */
  on_location: number | null;
  /** the process that was waited for; null: no single one */
  on: number | null;
  count: number;
  /** s */
  time: number;
  /** s */
  longest: number;
}
/** Of a call path of the model, by its number as text: names of regions, outermost first. */
export interface Stacks {
  [k: string]: string[];
}
/** Matched, and the same for collective operations. */
export interface Found {
  messages: number;
  /** as sent */
  bytes: number;
  /** sends without a receive */
  unmatched_sends: number;
  /** receives without a send */
  unmatched_receives: number;
  /** messages whose other side was not measured */
  unmeasured: number;
  cancelled: number;
  /** messages received before they were sent, because clocks differ */
  early: number;
  /** the largest of these differences (s) */
  early_worst: number;
  /** collective operations */
  operations: number;
  /** collective operations in which the part of a member is missing */
  incomplete: number;
  /** other collective operations that a member left before those it depends on had come */
  early_operations: number;
  /** the largest of these differences (s) */
  early_operations_worst: number;
}
export interface OffCpu {
  /** module:function */
  name: string;
  file: string;
  /** 0: not known */
  line: number;
  /** what it waited for, such as queue or sleep; other: not known */
  kind: string;
  /** s */
  waiting: number;
}
export interface Critical {
  /** of the run (s) */
  length: number;
  /** from one location to another */
  jumps: number;
  /** s on the path, of each location */
  locations: number[];
  /** location, from and to (s), in order, without gaps */
  pieces: [location: number, from: number, to: number][];
  regions: CriticalRegion[];
  paths: {
    path: number;
    /** s */
    time: number;
    /** of it the location waited (s) */
    waiting: number;
  }[];
  stacks: Stacks;
  found: Found;
}
export interface CriticalRegion {
  name: string;
  file: string;
  line: number;
  kind: string;
  /** on the path (s) */
  time: number;
  /** of it the location waited (s); 0: as in traces without off-CPU time */
  waiting: number;
  /** how much shorter the run gets, at least, if the region loses `share` of its time on the path (s) */
  at_least: number;
  /** the same, at most (s) */
  at_most: number;
}
export interface FileUse {
  /** empty: not known */
  path: string;
  opens: number;
  reads: number;
  writes: number;
  flushes: number;
  seeks: number;
  /** operations that failed, other than opens */
  failed: number;
  bytes_read: number;
  bytes_written: number;
  /** s */
  read_time: number;
  /** s */
  write_time: number;
  /** s */
  flush_time: number;
}
export interface Tasks {
  count: number;
  /** tasks that are in the sums of groups alone */
  unlisted: number;
  /** tasks that were created but never began; not in count */
  never: number;
  /** coroutines that ran outside of tasks */
  coroutines: number;
  /** Work that was given to the threads of pools. */
  handed: {
    /** pieces of work */
    given: number;
    /** of these, how many began */
    taken: number;
    /** from giving to beginning, all together (s) */
    waited: number;
    /** s */
    longest: number;
  };
  groups: TaskGroup[];
  tasks: Task[];
}
/** Tasks of one outermost coroutine. */
export interface TaskGroup {
  /** null: not known */
  name: string | null;
  tasks: number;
  unlisted: number;
  /** how many: waiting, running, returned, raised, cancelled, dropped */
  states: {
    [k: string]: number;
  };
  steps: number;
  /** s */
  running: number;
  /** s */
  waiting: number;
  /** the longest that one of them waited (s) */
  longest: number;
  waits: TaskWait[];
}
export interface TaskWait {
  /** the innermost coroutine; null: not known */
  where: string | null;
  /** type of what was awaited; null: not known */
  what: string | null;
  count: number;
  /** s */
  time: number;
}
export interface Task {
  id: number;
  name: string;
  process: number;
  /** in the process */
  number: number;
  /** name of its outermost coroutine */
  region: string | null;
  /** that ran it last */
  location: number | null;
  /** id of the task that created it */
  creator: number | null;
  /** location that created it */
  by: number | null;
  /** waiting, running, returned, raised, cancelled or dropped */
  state: string;
  /** its creation was seen; otherwise created is its begin */
  seen_created: boolean;
  /** s */
  created: number;
  /** s */
  begin: number;
  /** s */
  end: number;
  /** s */
  running: number;
  /** s */
  waiting: number;
  steps: number;
  /** the longest kinds */
  waits: TaskWait[];
}
export interface Locks {
  objects: Waited[];
  /** the longest first */
  waits: LockWait[];
  /** waits that are not among these, as they are too many */
  hidden: number;
  /** names of functions, outermost first */
  stacks: string[][];
  /** lines about threads that wait for each other */
  deadlocks: string[];
  /** the same: each waits for the lock, which the next one holds */
  cycles: {
    location: number;
    lock: string;
  }[][];
}
/** A lock, a queue, a thread and the like that was waited for, or sleeping and the like, which are one for each kind. */
export interface Waited {
  name: string;
  /** how often it was acquired; 0: not known */
  acquired: number;
  /** hold time since the first wait for it (s) */
  held: number;
}
/** Waits of one thread at one source location for one object with one lock holder, or none. */
export interface LockWait {
  /** index in objects */
  object: number;
  location: number;
  /** location; null: none, or not known */
  holder: number | null;
  /** index in stacks */
  stack: number;
  /** index in stacks */
  holder_stack: number;
  /** file:line, or empty */
  at: string;
  count: number;
  /** s */
  time: number;
  /** s */
  longest: number;
  /** the last one had not ended */
  open: boolean;
}
/** Bytes are those that were asked for. */
export interface Memory {
  processes: Heap[];
  /** the lines with the most bytes at the peak, left at the end, allocated, and temporary */
  lines: LineSite[];
  /** the same of call paths */
  paths: PathSite[];
  threads: ThreadSite[];
  /**
   * how many lines, call paths and threads are left out
   *
   * @minItems 3
   * @maxItems 3
   */
  hidden: [lines: number, paths: number, threads: number];
  stacks: Stacks;
  /** Sums of all sites. */
  totals: {
    /** blocks allocated */
    count: number;
    /** allocated */
    bytes: number;
    /** blocks at the peak */
    peak: number;
    peak_bytes: number;
    /** blocks never released before the program ended */
    left: number;
    left_bytes: number;
    /** blocks released before the thread allocated more than one other of about that size */
    temporary: number;
    temporary_bytes: number;
    /** the part of left_bytes that kept growing until the end */
    growing_bytes: number;
    /** the part of left_bytes that was allocated in a short time, as a cache is */
    cache_bytes: number;
  };
  /** sentences: what is not in the numbers */
  notes: string[];
}
/** Of one process. */
export interface Heap {
  /** index */
  process: number;
  /**
   * of the columns: the first, and behind the last
   *
   * @minItems 2
   * @maxItems 2
   */
  rows: [first: number, end: number];
  /** blocks recorded */
  count: number;
  /** bytes recorded */
  allocated: number;
  /** blocks */
  freed: number;
  freed_bytes: number;
  /** still there at its end */
  blocks: number;
  /** still there at its end */
  bytes: number;
  peak_bytes: number;
  peak_blocks: number;
  /** s */
  peak_time: number | null;
  /** blocks released that were there before, or were not recorded */
  unknown: number;
  /** blocks allocated, not recorded */
  lost: number;
  lost_bytes: number;
  /** frames without a name, which count as their caller */
  unnamed: number;
  /** mean bytes between two that were recorded; 0: all */
  sample: number;
  /** bytes that recording took */
  own: number;
  /** s that it took, about; 0: not known */
  cost: number;
  /** s */
  begin: number;
  /** the program's end (s); null: not seen */
  ended: number | null;
  /** last */
  resident: number;
  resident_peak: number;
  /** s */
  resident_peak_time: number | null;
  /** of resident bytes; null: none was given */
  limit: HeapLimit | null;
}
export interface HeapLimit {
  bytes: number;
  /** when first (s); null: never */
  passed: number | null;
  passes: number;
  /** s above it */
  over: number;
  /** that passed it first */
  function: string | null;
  file: string | null;
  line: number;
  path: number | null;
}
/** What one line allocated. */
export interface LineSite {
  /** module:function; null: not known */
  function: string | null;
  file: string | null;
  line: number;
  /** the source location in a library that allocated for this line; null: the line allocated itself, or is not the program's own */
  within: string | null;
  /** blocks allocated */
  count: number;
  /** allocated */
  bytes: number;
  /** blocks at the peak */
  peak: number;
  peak_bytes: number;
  /** blocks never released before the program ended */
  left: number;
  left_bytes: number;
  /** blocks released before the thread allocated more than one other of about that size */
  temporary: number;
  temporary_bytes: number;
  /** the part of left_bytes that kept growing until the end */
  growing_bytes: number;
  /** the part of left_bytes that was allocated in a short time, as a cache is */
  cache_bytes: number;
}
/** What one call path allocated. */
export interface PathSite {
  /** key of stacks */
  path: number;
  /** blocks allocated */
  count: number;
  /** allocated */
  bytes: number;
  /** blocks at the peak */
  peak: number;
  peak_bytes: number;
  /** blocks never released before the program ended */
  left: number;
  left_bytes: number;
  /** blocks released before the thread allocated more than one other of about that size */
  temporary: number;
  temporary_bytes: number;
  /** the part of left_bytes that kept growing until the end */
  growing_bytes: number;
  /** the part of left_bytes that was allocated in a short time, as a cache is */
  cache_bytes: number;
}
/** What one thread allocated. */
export interface ThreadSite {
  process: number;
  location: number;
  /** blocks allocated */
  count: number;
  /** allocated */
  bytes: number;
  /** blocks at the peak */
  peak: number;
  peak_bytes: number;
  /** blocks never released before the program ended */
  left: number;
  left_bytes: number;
  /** blocks released before the thread allocated more than one other of about that size */
  temporary: number;
  temporary_bytes: number;
  /** the part of left_bytes that kept growing until the end */
  growing_bytes: number;
  /** the part of left_bytes that was allocated in a short time, as a cache is */
  cache_bytes: number;
}
export interface LineFunction {
  /** module:function */
  name: string;
  module: string;
  /** its qualified name */
  function: string;
  file: string;
  /** the first one */
  line: number;
  /** exclusive time of all its lines (s) */
  excl: number;
  /** s */
  callees: number;
  /** line, hits, exclusive time and time in callees (s), of those that ran */
  lines: [line: number, hits: number, excl: number, callees: number][];
  base?: BaseLines;
}
/** Of the run compared with, where it has the function (spartito.view.linechanges). */
export interface BaseLines {
  name: string;
  file: string;
  line: number;
  /** s */
  excl: number;
  /** s */
  callees: number;
  /** how lines were found to be the same: by their text, or by their distance from the function's first line */
  by: "text" | "offset";
  lines: [here: number, there: number, hits: number, excl: number, callees: number][];
  /** those that have no counterpart */
  gone: [there: number, hits: number, excl: number, callees: number, text: string][];
}
export interface Renamed {
  /** the other run's */
  before: string;
  after: string;
  /** how many functions */
  regions: number;
}
/** Of messages: how many sends and receives were found to belong together. */
export interface Matched {
  messages: number;
  /** as sent */
  bytes: number;
  /** sends without a receive */
  unmatched_sends: number;
  /** receives without a send */
  unmatched_receives: number;
  /** messages whose other side was not measured */
  unmeasured: number;
  cancelled: number;
  /** messages received before they were sent, because clocks differ */
  early: number;
  /** the largest of these differences (s) */
  early_worst: number;
}
