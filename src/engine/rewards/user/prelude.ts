/**
 * The environment of a custom reward, as JavaScript for the interpreter. Evaluates to an object of three functions:
 * `load` takes the user's program, `call` runs it on one rollout, `reached` returns the forbidden name that it tried to
 * use.
 *
 * The interpreter has no host functions. Names of the network and of the page exist only to detect and report
 * their use, even if the program hides the error. Clocks and random numbers are refused because a repeated step must
 * give the same result.
 */
export const PRELUDE = `(function () {
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
export function wrapped(javascript: string): string {
  return `(function (exports, require) {${javascript}
;return typeof reward === "function" ? reward : undefined;})`;
}

/** Names that messages call "the network". */
export const NETWORK = /^(?:fetch|XMLHttpRequest|WebSocket|WebTransport|EventSource|RTCPeerConnection|importScripts)$/;
