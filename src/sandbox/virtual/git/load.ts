/** The library, on first use: most sessions never run git. It wants `Buffer`, which a Worker may not have. */
export async function loadGit(): Promise<typeof import("isomorphic-git")> {
  if (!("Buffer" in globalThis)) {
    const { Buffer } = await import("buffer");
    Object.assign(globalThis, { Buffer });
  }
  return import("isomorphic-git");
}
