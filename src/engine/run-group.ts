import type { ElicitationAnswer, ElicitationQuestion } from "../contract/elicitation.ts";
import type { LiveEvent } from "../contract/events.ts";
import type { Output } from "../contract/journal.ts";
import type { EntryOf } from "../contract/log.ts";
import type { Agent } from "./agent.ts";
import { CANCELLED, elicitationAnswer, elicited, withdrawn } from "./elicit.ts";
import { commit } from "./outcomes.ts";
import { type Runnable, runCall } from "./run-call.ts";
import { resultEvent } from "./tool-result.ts";

/** Questions one call may ask; whoever runs it must not be nagged without end. */
const MAX_QUESTIONS = 16;

type Happening =
  | { readonly kind: "progress"; readonly event: LiveEvent }
  | { readonly kind: "finished"; readonly call: Runnable; readonly entry: EntryOf<"tool_finished"> }
  | { readonly kind: "broken"; readonly error: unknown };

type Wanted = {
  readonly call: Runnable;
  readonly question: ElicitationQuestion;
  readonly signal: AbortSignal;
  answer(answer: ElicitationAnswer): void;
};

/**
 * Runs a group side by side; each result is committed as it comes, the history keeps call order by itself. What the calls
 * ask is put to a person one question after the other.
 */
export async function* runGroup(group: readonly Runnable[], agent: Agent): AsyncGenerator<Output, void> {
  const happenings: Happening[] = [];
  const wanted: Wanted[] = [];
  let wake: () => void = () => undefined;
  const tell = (happening: Happening): void => {
    happenings.push(happening);
    wake();
  };
  const forget = agent.nudge.watch(() => wake());
  for (const call of group) {
    const progress = (fraction: number, detail: string): void =>
      tell({ kind: "progress", event: progressEvent(call, fraction, clean(detail, agent)) });
    let asked = 0;
    const put = (question: ElicitationQuestion, signal: AbortSignal): Promise<ElicitationAnswer> =>
      new Promise((resolve) => {
        if (++asked > MAX_QUESTIONS) return resolve({ action: "decline" });
        signal.addEventListener("abort", () => wake(), { once: true });
        wanted.push({ call, question, signal, answer: resolve });
        wake();
      });
    runCall(call, agent, progress, put).then(
      (entry) => tell({ kind: "finished", call, entry }),
      (error: unknown) => tell({ kind: "broken", error }),
    );
  }
  let running = group.length;
  let open: { readonly id: string; readonly by: Wanted } | undefined;
  try {
    while (running > 0) {
      if (open) {
        const { id, by } = open;
        const answer = elicitationAnswer(by.call.callId, id, agent);
        // Taken back by the server, or by the end of its call: that aborts the signal before its result is told.
        const gone = !answer && by.signal.aborted;
        if (gone) yield commit([withdrawn(by.call.callId, id, "nobody waits for the answer any more")], []);
        if (answer || gone) {
          open = undefined;
          by.answer(answer ?? CANCELLED);
        }
      }
      const next = open ? undefined : wanted.shift();
      if (next?.signal.aborted) next.answer(CANCELLED);
      else if (next) {
        const asked = elicited(next.call, next.question, agent);
        yield asked.commit;
        open = { id: asked.id, by: next };
      }
      if (next) continue;
      const happening = happenings.shift();
      if (!happening) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      if (happening.kind === "broken") throw happening.error;
      if (happening.kind === "progress") {
        yield { kind: "live", events: [happening.event] };
        continue;
      }
      running--;
      const { call, entry } = happening;
      yield commit([entry], [resultEvent(call.tool.name, entry)]);
    }
  } finally {
    forget();
  }
}

/** Without registered secrets, and without what looks like one, as the result will be. */
function clean(text: string, { deps }: Agent): string {
  return deps.guard.redact(deps.redactor.redact(text));
}

/** Cut after it was redacted: half a secret is not recognized. */
const PROGRESS_CHARACTERS = 200;

function progressEvent(call: Runnable, fraction: number, detail: string): LiveEvent {
  const progress = Math.min(1, Math.max(0, Number.isFinite(fraction) ? fraction : 0));
  return {
    type: "tool_progress",
    id: call.callId,
    tool_name: call.tool.name,
    progress,
    detail: detail.slice(-PROGRESS_CHARACTERS),
  };
}
