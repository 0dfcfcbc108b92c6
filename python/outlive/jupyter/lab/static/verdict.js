/**
 * A verdict message of the server, made into the texts that people see. Data in, text out.
 */

/**
 * @typedef {{kernel_id: string, run: string, verdict: string, confidence: string,
 *   headline: string, place: string | null, source_line: string | null, text: string,
 *   cell?: {count: number, id: string | null} | null, line?: number | null,
 *   notebook: string | null, time: string, ended: string}} Message
 * @typedef {{id: string | null, count: number, line: number, text: string}} GuiltyCell
 */

/** The schema of the events that carry verdicts; `events.py` registers the same. */
export const SCHEMA = 'urn:outlive:verdict';

// JupyterLab shows no more than 140 characters of a notification.
const NOTIFICATION_ROOM = 140;

/**
 * The lines of the notification: what happened, then where.
 *
 * @param {Message} message
 * @returns {string}
 */
export function notificationText(message) {
  const where = whereText(message);
  if (!where) {
    return cut(message.headline, NOTIFICATION_ROOM);
  }
  const headline = cut(message.headline, NOTIFICATION_ROOM - 50);
  return `${headline}\n${cut(where, NOTIFICATION_ROOM - headline.length - 1)}`;
}

/**
 * Place and line of code, such as `cell [3] line 2: grid = make_grid(images)`.
 *
 * @param {Message} message
 * @returns {string} empty when the place is not known
 */
export function whereText(message) {
  const code = (message.source_line ?? '').trim();
  return [message.place, code].filter(Boolean).join(': ');
}

/**
 * The cell that the place names.
 *
 * @param {Message} message
 * @returns {GuiltyCell | null}
 */
export function guiltyCell(message) {
  const words = /^cell \[(\d+)\](?: line (\d+))?/.exec(message.place ?? '');
  const count = message.cell?.count ?? Number(words?.[1]);
  const id = message.cell?.id ?? null;
  const line = message.line ?? Number(words?.[2] ?? 1);
  return id || count ? { id, count, line, text: (message.source_line ?? '').trim() } : null;
}

/**
 * What names this ending, so that it is told once.
 *
 * @param {Message} message
 * @returns {string}
 */
export function key(message) {
  return String(message.run ?? `${message.kernel_id} ${message.time}`);
}

function cut(text, room) {
  const whole = String(text ?? '');
  return whole.length <= room ? whole : `${whole.slice(0, room - 1).trimEnd()}…`;
}
