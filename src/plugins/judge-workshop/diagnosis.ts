/** Explains a failed judge call to the user, with the setting to change. */
import type { FailureKind } from "../../engine/rewards/judge/providers/provider.ts";
import type { ReachReport } from "../../protocol/reward.ts";

export interface Circumstances {
  /** Origin of the page. */
  readonly origin: string;
  readonly url: string;
  readonly model: string;
  readonly reach: ReachReport | null;
}

export interface Diagnosis {
  readonly title: string;
  /** One or two sentences: the problem, and what to do. */
  readonly advice: string;
  /** A command or setting to copy. */
  readonly line?: string;
}

export function diagnose(kind: FailureKind, circumstances: Circumstances): Diagnosis {
  const { url, model, origin } = circumstances;
  switch (kind) {
    case "unreachable":
      return unreachable(circumstances);
    case "timeout":
      return {
        title: "No answer in time",
        advice:
          "The server accepted the call but did not answer. Usually the model is still loading or too large. Raise “Request timeout” or use a smaller model.",
      };
    case "rate-limited":
      return {
        title: "Too many calls",
        advice: "The service asks for fewer calls (429). Lower “Concurrent requests”, or wait until its limit resets.",
      };
    case "server":
      return {
        title: "The server failed",
        advice: "It answered with a server error (5xx). See its log; the usual cause is too little memory.",
      };
    case "bad-key":
      return {
        title: "Key refused",
        advice: `The server refused the key or requires one (401 or 403). Enter it again; with Ollama a 403 means that ${origin} is not an allowed origin.`,
        ...(serverName(url) === "Ollama" ? { line: `OLLAMA_ORIGINS=${origin} ollama serve` } : {}),
      };
    case "no-model":
      return {
        title: "No such model",
        advice: `The server does not have the model “${model}” or the address is wrong. Press “List models” and choose one, and check that the address ends in /v1.`,
        ...(serverName(url) === "Ollama" ? { line: `ollama pull ${model}` } : {}),
      };
    case "bad-request":
      return {
        title: "Request refused",
        advice: "The server understood the call and refused it; its reply is below.",
      };
    case "not-json":
      return {
        title: "Not JSON",
        advice:
          "The server answered, but not with JSON: the address is that of a web page, or the model does not follow the requested form. Try a larger model or one that supports structured output.",
      };
    case "wrong-form":
      return {
        title: "Reply of another form",
        advice:
          "The model answers with JSON of another form; try a larger model or one that supports structured output.",
      };
    case "cut-off":
      return {
        title: "Reply cut off",
        advice:
          "The reply ended at the limit of tokens. Raise “Maximum reply length”, or turn off the model's reasoning; a server's own limit cannot be raised here.",
      };
    case "too-long":
      return { title: "Answer too long", advice: "The address does not seem to be that of a chat server." };
    case "budget":
      return { title: "Budget used up", advice: "Raise the budget of calls or money to continue." };
    case "no-questions":
      return {
        title: "No questions",
        advice: "The question file has no questions for this caption; add some.",
      };
  }
}

function unreachable({ origin, url, reach }: Circumstances): Diagnosis {
  const target = parse(url);
  if (target === null) return { title: "No address", advice: "The address is not a web address." };
  const local = isLoopback(target.hostname);
  // A page served from this machine needs no permission to reach a server on it.
  const asks = local && !isLoopback(parse(origin)?.hostname ?? "");
  if (target.protocol === "http:" && !local) {
    return {
      title: "Address not allowed",
      advice:
        "The page reaches https addresses anywhere and http addresses on this machine only. Serve it over https, or forward it to this machine with a tunnel and use the local address.",
      line: `ssh -N -L 8000:localhost:${target.port || "80"} ${target.hostname}`,
    };
  }
  if (reach?.localPermission === "denied" && asks) {
    return {
      title: "Local network not permitted",
      advice:
        "Chrome does not let this page reach servers on this machine; allow “Local network access” in the site's settings (the icon before the address) and try again.",
    };
  }
  if (reach?.answers === true) {
    const fix = corsSetting(url, origin);
    return {
      title: "CORS refused",
      advice: `The server is running, but does not let pages of ${origin} read its answers. ${fix.advice}`,
      ...(fix.line === undefined ? {} : { line: fix.line }),
    };
  }
  if (reach?.localPermission === "prompt" && asks) {
    return {
      title: "Local network not permitted yet",
      advice: "Chrome asks whether this page may reach servers on this machine; press Test again and allow it.",
    };
  }
  return {
    title: "Nothing answers",
    advice: `No server answered at ${target.host}, or it closed the connection early. Start it, check the port, and try again.`,
  };
}

/** How to allow the page's origin in common servers. */
function corsSetting(url: string, origin: string): { readonly advice: string; readonly line?: string } {
  switch (serverName(url)) {
    case "Ollama":
      return {
        advice: "Start Ollama with this page as an allowed origin:",
        line: `OLLAMA_ORIGINS=${origin} ollama serve`,
      };
    case "LM Studio":
      return { advice: "In LM Studio open Developer, Server Settings, and switch “Enable CORS” on." };
    case "vLLM":
      return {
        advice: "Start vLLM with this page as an allowed origin:",
        line: `vllm serve … --allowed-origins '["${origin}"]'`,
      };
    default:
      return {
        advice: "Make the server send these headers, also in replies to OPTIONS:",
        line: `Access-Control-Allow-Origin: ${origin}  Access-Control-Allow-Headers: authorization, content-type`,
      };
  }
}

/** The common servers, by their default ports. */
function serverName(url: string): "Ollama" | "LM Studio" | "vLLM" | null {
  const port = parse(url)?.port;
  if (port === "11434") return "Ollama";
  if (port === "1234") return "LM Studio";
  return port === "8000" ? "vLLM" : null;
}

function parse(url: string): URL | null {
  try {
    return new URL(url.trim());
  } catch {
    // Not an address, which has its own error message.
    return null;
  }
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "127.0.0.1" || host === "[::1]" || host.endsWith(".localhost");
}
