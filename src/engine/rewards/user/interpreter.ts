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
import { NETWORK, PRELUDE, wrapped } from "./prelude.ts";
import type { SandboxReply, SandboxRequest, StopKind } from "./protocol.ts";
import { stripTypes } from "./source.ts";

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

export interface Interpreter {
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

function runOne(
  quickjs: QuickJSWASMModule,
  program: string,
  rollout: string,
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
