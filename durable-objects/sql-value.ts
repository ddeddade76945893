/** What a column of an object's SQLite holds. */
export type SqlValue = ArrayBuffer | string | number | null;
