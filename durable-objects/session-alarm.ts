/** An alarm that would come up to this much too early stays where it is: whoever it wakes finds out that it is too early. */
const EARLY_MS = 20_000;

/**
 * The object's one alarm. Moving it to an earlier time holds back everything that is stored with it, the call to the
 * model behind a message included, by milliseconds; so it is moved only where that matters.
 */
export class SessionAlarm {
  readonly #storage: DurableObjectStorage;
  /** What this life of the object has set it to; undefined: not known. */
  #at: number | undefined;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** Sets it for the earliest of these times, milliseconds since the epoch; without any it stays as it is. */
  set(times: readonly number[], now: number): void {
    if (times.length === 0) return;
    const wanted = Math.max(now + 1, Math.min(...times));
    const at = this.#at ?? 0;
    if (at > now && at <= wanted && at >= wanted - EARLY_MS) return;
    this.#at = wanted;
    void this.#storage.setAlarm(wanted);
  }

  /** It has gone off. */
  wentOff(): void {
    this.#at = undefined;
  }

  async remove(): Promise<void> {
    this.#at = undefined;
    await this.#storage.deleteAlarm();
  }
}
