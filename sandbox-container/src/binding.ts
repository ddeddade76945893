/**
 * As much of `ctx.container` as is used here. Followed: developers.cloudflare.com/containers/api/durable-object-container
 * and /containers/guides/snapshots. Written down rather than taken from the vendor's types, so that tests in Node can
 * answer in its place; the object hands its own binding over, and there the compiler compares the two.
 */
export type ContainerBinding = {
  readonly running: boolean;
  readonly images: Record<string, string>;
  start(options: StartOptions): void;
  destroy(): Promise<void>;
  exec(command: string[], options?: ExecOptions): Promise<ExecProcess>;
  snapshotContainer(options?: { name?: string }): Promise<Snapshot>;
};

export type Snapshot = { readonly id: string; readonly size: number };

export type StartOptions = { readonly enableInternet: boolean; readonly instance: Instance } & (
  | { readonly image: string }
  | { readonly containerSnapshot: { readonly id: string } }
);

export type Instance = "lite" | "basic" | "standard-1" | "standard-2" | "standard-3" | "standard-4";

export type ExecOptions = {
  readonly cwd?: string;
  /** The process sees only these, and the image's `PATH`. */
  readonly env?: Record<string, string>;
  /** Without it standard input is closed. */
  readonly stdin?: ReadableStream;
};

export type ExecProcess = {
  readonly stdout: ReadableStream | null;
  readonly stderr: ReadableStream | null;
  readonly pid: number;
  /** Nonzero codes resolve too. */
  readonly exitCode: Promise<number>;
  output(): Promise<{ readonly stdout: ArrayBuffer; readonly stderr: ArrayBuffer; readonly exitCode: number }>;
  kill(signal?: number): void;
};

/** As much of the object's storage as is used here. */
export type MachineStorage = {
  get<T>(key: string): Promise<T | undefined>;
  put(key: string, value: unknown): Promise<void>;
  setAlarm(atMs: number): Promise<void>;
  deleteAll(): Promise<void>;
};
