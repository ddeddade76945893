/** The library, on first use: most sessions never run git. It wants the global `Buffer` of workerd's newer dates. */
export const loadGit = (): Promise<typeof import("isomorphic-git")> => import("isomorphic-git");
