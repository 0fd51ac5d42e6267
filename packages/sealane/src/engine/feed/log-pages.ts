import type { Event, Seq } from '#domain';
import type { Scope, TaskId, TaskStore } from '#store';

/** The sizes of pages of the log. A stalled reader holds one page in memory, so large events come in smaller pages. */
export const FIRST_PAGE = 16;
const LARGEST_PAGE = 256;
const PAGE_BYTES = 256 * 1024;

/** A rough size is enough to keep memory bounded. */
export const sizeOf = ({ event }: Event): number => {
  const parts =
    event.kind === 'artifact-added' ? event.artifact.parts : 'message' in event ? (event.message?.parts ?? []) : [];
  return parts.reduce(
    (sum, part) => sum + (part.text?.length ?? 0) + (part.raw?.length ?? 0) + (part.data === undefined ? 0 : 1000),
    200,
  );
};

export const sizeOfAll = (events: readonly Event[]): number => events.reduce((sum, event) => sum + sizeOf(event), 0);

export const nextPageSize = (page: readonly Event[]): number =>
  Math.max(1, Math.min(LARGEST_PAGE, Math.floor((PAGE_BYTES * page.length) / sizeOfAll(page))));

/** The events after `after`, up to the number `last`, in pages of bounded size. Ends early where the log ends. */
export async function* logPages(
  store: Pick<TaskStore, 'read'>,
  scope: Scope,
  id: TaskId,
  { after, last }: { readonly after: Seq; readonly last: Seq },
): AsyncGenerator<readonly Event[], void, undefined> {
  let cursor = after;
  let pageSize = FIRST_PAGE;
  while (cursor < last) {
    const page = await store.read(scope, id, cursor, Math.min(pageSize, last - cursor));
    const end = page.at(-1);
    if (!end) return;
    yield page;
    cursor = end.seq;
    pageSize = nextPageSize(page);
  }
}
