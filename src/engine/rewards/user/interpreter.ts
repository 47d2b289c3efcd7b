/**
 * The interpreter for custom rewards: QuickJS compiled to WebAssembly, with limits on time, memory and depth, and
 * without host functions. Every rollout gets a fresh program, so that no state carries over and a step is repeatable.
 */

import baseVariant from "@jitl/quickjs-wasmfile-release-sync";
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSWASMModule,
} from "quickjs-emscripten-core";
import { transform } from "sucrase";
import type { SandboxReply, SandboxRequest, StopKind } from "./protocol.ts";

/**
 * The environment of a custom reward, as JavaScript for the interpreter. Evaluates to an object of three functions:
 * `load` takes the user's program, `call` runs it on one rollout, `reached` returns the forbidden name that it tried to
 * use.
 *
 * The interpreter has no host functions. Names of the network and of the page exist only to detect and report
 * their use, even if the program hides the error. Clocks and random numbers are refused because a repeated step must
 * give the same result.
 */
const PRELUDE = `(function () {
  "use strict";
  var outside = "fetch XMLHttpRequest WebSocket WebTransport EventSource RTCPeerConnection importScripts navigator location self window document parent top postMessage localStorage sessionStorage indexedDB caches require process Deno Bun Worker SharedWorker BroadcastChannel MessageChannel WebAssembly".split(" ");
  var unrepeatable = "Date performance crypto setTimeout setInterval setImmediate requestAnimationFrame".split(" ");
  var touched = null;
  function trap(holder, name, shown) {
    Object.defineProperty(holder, name, {
      configurable: false,
      enumerable: false,
      get: function () {
        if (touched === null) touched = shown;
        throw new ReferenceError(shown + " is not available to a reward");
      },
    });
  }
  outside.concat(unrepeatable).forEach(function (name) { trap(globalThis, name, name); });
  trap(Math, "random", "Math.random");

  function Mask(plain) {
    this.height = plain.height;
    this.width = plain.width;
    this.area = plain.area;
    this.box = plain.box;
    Object.defineProperty(this, "runs", { value: plain.runs });
  }
  Object.defineProperty(Mask.prototype, "pixels", {
    get: function () {
      var height = this.height, width = this.width, runs = this.runs;
      var pixels = new Uint8Array(height * width);
      for (var i = 0, at = 0; i < runs.length; at += runs[i], i++) {
        if (i % 2 === 0) continue;
        for (var end = at + runs[i], p = at; p < end; p++) {
          var x = Math.floor(p / height);
          pixels[(p - x * height) * width + x] = 1;
        }
      }
      Object.defineProperty(this, "pixels", { value: pixels });
      return pixels;
    },
  });
  Mask.prototype.has = function (x, y) {
    return x >= 0 && y >= 0 && x < this.width && y < this.height && this.pixels[y * this.width + x] === 1;
  };

  var parse = JSON.parse;
  var reward = null;
  return {
    load: function (program) {
      var exported = {};
      var own = program(exported, function (name) { return trapImport(name); });
      reward = exported.default || exported.reward || own;
      return typeof reward === "function";
    },
    call: function (text) {
      var rollout = parse(text);
      if (rollout.given !== null) rollout.given = new Mask(rollout.given);
      if (rollout.predicted !== null) rollout.predicted = new Mask(rollout.predicted);
      return reward(rollout);
    },
    reached: function () { return touched === null ? "" : touched; },
  };
  function trapImport(name) {
    if (touched === null) touched = "import of " + name;
    throw new ReferenceError("nothing can be imported into a reward");
  }
})()`;

/** The user's program as a function that returns its exports; a plain \`function reward\` counts as exported. */
function wrapped(javascript: string): string {
  return `(function (exports, require) {${javascript}
;return typeof reward === "function" ? reward : undefined;})`;
}

/** Names that messages call "the network". */
const NETWORK = /^(?:fetch|XMLHttpRequest|WebSocket|WebTransport|EventSource|RTCPeerConnection|importScripts)$/;

// A user's source as plain JavaScript.

/**
 * Strips types and turns `export` into assignments; line numbers stay.
 * @throws Error with line and cause when the source cannot be read
 */
function stripTypes(code: string): string {
  return transform(code, { transforms: ["typescript", "imports"], disableESTransforms: true, production: true }).code;
}

const STACK_BYTES = 256 * 1024;
/** Extra time and memory for reading the error of a program that exceeded its limits. */
const LOOKING_MS = 1000;
const LOOKING_MIB = 8;
const INTRINSICS = {
  BaseObjects: true,
  Eval: true,
  RegExp: true,
  RegExpCompiler: true,
  JSON: true,
  MapSet: true,
  TypedArrays: true,
  BigInt: true,
  Proxy: true,
  Promise: true,
  StringNormalize: true,
} as const;

interface Interpreter {
  /** Runs a request to its end; `tell` is called before each rollout. */
  run(request: SandboxRequest, tell: (reply: SandboxReply) => void): SandboxReply;
}

/**
 * @param now milliseconds, monotonic
 * @param wasmLocation address of the interpreter's binary, if it cannot find it itself
 */
export async function loadInterpreter(now: () => number, wasmLocation?: string): Promise<Interpreter> {
  const variant = wasmLocation === undefined ? baseVariant : newVariant(baseVariant, { wasmLocation });
  const quickjs = await newQuickJSWASMModuleFromVariant(variant);
  return { run: (request, tell) => runGroup(quickjs, request, tell, now) };
}

/** Why a program was stopped. */
class Stop extends Error {
  readonly kind: StopKind;

  constructor(kind: StopKind, did: string) {
    super(did);
    this.kind = kind;
  }
}

function runGroup(
  quickjs: QuickJSWASMModule,
  request: SandboxRequest,
  tell: (reply: SandboxReply) => void,
  now: () => number,
): SandboxReply {
  const values: number[] = [];
  let index: number | null = null;
  try {
    const program = readable(request.code);
    if (request.rollouts.length === 0) runOne(quickjs, program, null, request, now);
    for (const [at, rollout] of request.rollouts.entries()) {
      index = at;
      tell({ type: "at", request: request.request, index: at });
      values.push(runOne(quickjs, program, rollout, request, now));
    }
    return { type: "values", request: request.request, values };
  } catch (thrown) {
    // The stack of the host can end before that of the interpreter.
    if (thrown instanceof RangeError) {
      return { type: "stopped", request: request.request, kind: "stack", did: ENDLESS, index };
    }
    if (!(thrown instanceof Stop)) {
      const cause = thrown instanceof Error ? thrown.message : String(thrown);
      return { type: "stopped", request: request.request, kind: "broken", did: `broke the sandbox (${cause})`, index };
    }
    return { type: "stopped", request: request.request, kind: thrown.kind, did: thrown.message, index };
  }
}

function readable(code: string): string {
  try {
    return wrapped(stripTypes(code));
  } catch (thrown) {
    throw new Stop("syntax", `cannot be read: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  }
}

/** @param rollout its JSON; null only loads the program, and returns NaN */
function runOne(
  quickjs: QuickJSWASMModule,
  program: string,
  rollout: string | null,
  { milliseconds, mebibytes }: SandboxRequest,
  now: () => number,
): number {
  const runtime = quickjs.newRuntime();
  let late = false;
  let deadline = Number.POSITIVE_INFINITY;
  runtime.setMemoryLimit(mebibytes * 2 ** 20);
  runtime.setMaxStackSize(STACK_BYTES);
  runtime.setInterruptHandler(() => {
    late ||= now() > deadline;
    return late;
  });
  const context = runtime.newContext({ intrinsics: INTRINSICS });
  const held: QuickJSHandle[] = [];
  const hold = (handle: QuickJSHandle): QuickJSHandle => {
    held.push(handle);
    return handle;
  };
  let released = false;
  const release = (): void => {
    if (released) return;
    released = true;
    for (const handle of held) if (handle.alive) handle.dispose();
    context.dispose();
    runtime.dispose();
  };
  /** Raise the limits to read the reason, because time and memory are used up. */
  const allowLooking = (): void => {
    late = false;
    deadline = now() + LOOKING_MS;
    runtime.setMemoryLimit((mebibytes + LOOKING_MIB) * 2 ** 20);
  };
  /** The value of a result; throws the Stop that its error means. */
  const value = (
    result: ReturnType<QuickJSContext["evalCode"]>,
    reached: () => string,
    doing: "syntax" | "throw",
  ): QuickJSHandle => {
    if (result.error === undefined) return hold(result.value);
    const error = hold(result.error);
    const wasLate = late;
    allowLooking();
    throw stopOf(context, error, { late: wasLate, milliseconds, mebibytes, reached: reached(), doing });
  };
  try {
    const nothing = (): string => "";
    const tools = value(context.evalCode(PRELUDE, "lab.js"), nothing, "throw");
    const [load, call, reachedOf] = ["load", "call", "reached"].map((name) => hold(context.getProp(tools, name)));
    const reached = (): string => {
      const result = context.callFunction(reachedOf as QuickJSHandle, context.undefined);
      hold(result.error ?? result.value);
      return result.error === undefined ? context.getString(result.value) : "";
    };
    deadline = now() + milliseconds;
    const main = value(context.evalCode(program, "reward.ts"), reached, "syntax");
    const found = value(context.callFunction(load as QuickJSHandle, context.undefined, main), reached, "throw");
    if (context.dump(found) !== true) throw new Stop("no-function", "defines no function named reward");
    if (rollout === null) {
      release();
      return Number.NaN;
    }
    const text = hold(context.newString(rollout));
    const result = value(context.callFunction(call as QuickJSHandle, context.undefined, text), reached, "throw");
    const kind = context.eq(result, context.null) ? "null" : context.typeof(result);
    allowLooking();
    const number = kind === "number" ? context.getNumber(result) : Number.NaN;
    const name = reached();
    if (name !== "") throw reachStop(name);
    if (kind !== "number") throw new Stop("value", `returned ${article(kind)}, not a number`);
    if (!Number.isFinite(number)) throw new Stop("value", `returned ${number}, not a finite number`);
    release();
    return number;
  } catch (thrown) {
    try {
      release();
    } catch {
      // A program that ends its stack may leave objects behind, which the interpreter reports; why it ended says more.
    }
    throw thrown;
  }
}

const ENDLESS = "called itself without end, or nested data too deeply";

interface Circumstances {
  readonly late: boolean;
  readonly milliseconds: number;
  readonly mebibytes: number;
  readonly reached: string;
  readonly doing: "syntax" | "throw";
}

function stopOf(context: QuickJSContext, error: QuickJSHandle, at: Circumstances): Stop {
  if (at.late) return new Stop("time", `ran longer than ${at.milliseconds} ms`);
  if (at.reached !== "") return reachStop(at.reached);
  const { name, message, stack } = described(context, error);
  if (name === "InternalError" && /out of memory/.test(message)) {
    return new Stop("memory", `asked for more than ${at.mebibytes} MiB of memory`);
  }
  // The parser of eval reports the end of the stack as an error of syntax.
  if (/^(?:InternalError|SyntaxError)$/.test(name) && /stack overflow/.test(message)) return new Stop("stack", ENDLESS);
  const line = /reward\.ts:(\d+)/.exec(stack)?.[1];
  const where = line === undefined ? "" : ` (line ${line})`;
  if (at.doing === "syntax") return new Stop("syntax", `cannot be read: ${message}${where}`);
  return new Stop("throw", `threw ${name === "" ? "" : `${name}: `}${message}${where}`);
}

/** Maximum characters of a user's message in a sentence. */
const MESSAGE = 300;

function described(context: QuickJSContext, error: QuickJSHandle): Record<"name" | "message" | "stack", string> {
  const dumped: unknown = context.dump(error);
  // The interpreter gives up on an object whose getters throw, and calls it "[object Object]".
  if (context.typeof(error) === "object" && typeof dumped !== "object") {
    return { name: "", message: "an object without a readable message", stack: "" };
  }
  if (typeof dumped !== "object" || dumped === null) {
    return { name: "", message: String(dumped).slice(0, MESSAGE), stack: "" };
  }
  const record = dumped as Readonly<Record<string, unknown>>;
  const text = (key: string): string => (typeof record[key] === "string" ? record[key].slice(0, MESSAGE) : "");
  return {
    name: text("name"),
    message: text("message") || "an object without a readable message",
    stack: text("stack"),
  };
}

function reachStop(name: string): Stop {
  const why = NETWORK.test(name) ? "a reward has no network access" : "it is not available to a reward";
  return new Stop("reach", `reached for ${name}; ${why}`);
}

function article(kind: string): string {
  if (kind === "undefined") return "nothing";
  if (kind === "null") return kind;
  return `${/^[aeiou]/.test(kind) ? "an" : "a"} ${kind}`;
}
