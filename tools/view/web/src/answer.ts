// SPDX-License-Identifier: MIT
// Answers of the source for a panel.
import { useEffect, useState } from "preact/hooks";

// The answer to `ask`, which is called again when one of the inputs changes; `none` until the first
// answer. An answer to older inputs is dropped.
export function useAnswer<T>(none: T, ask: () => Promise<T>, failed: (error: Error) => void, inputs: unknown[]): T {
  const [answer, setAnswer] = useState(none);
  useEffect(() => {
    let gone = false;
    ask().then((a) => gone || setAnswer(a), failed);
    return () => { gone = true; };
  }, inputs);
  return answer;
}

// Rows of tracks. To the source no tracks are all tracks.
export function ofTracks<T>(tracks: number[], ask: (tracks: number[]) => Promise<T[]>): Promise<T[]> {
  return tracks.length ? ask(tracks) : Promise.resolve([]);
}
