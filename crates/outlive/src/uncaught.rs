//! Uncaught exceptions in a few words.

use outlive_diagnose::cells::Cells;
use outlive_diagnose::thread_exceptions::ThreadException;
use outlive_diagnose::traceback::own_line;
use outlive_record::read::ExceptionRecord;

/// Threads shown: a pool may lose dozens to one cause. JSON has them all.
const THREADS: usize = 4;

/// `loader: ValueError: too few at /home/a/thr.py:3 in load`, for every thread that one ended.
pub(crate) fn in_threads(exceptions: &[ThreadException]) -> Vec<String> {
    let shown = exceptions.iter().take(THREADS);
    let mut lines: Vec<String> = shown.map(ThreadException::describe).collect();
    if exceptions.len() > THREADS {
        lines.push(format!("and {} more", exceptions.len() - THREADS));
    }
    lines
}

/// `ValueError at train.py:12`, with the file named from the directory it was started in.
pub(crate) fn short(exception: &ExceptionRecord, cells: &Cells, directory: &str) -> String {
    let directory = format!("{directory}/");
    let place = own_line(exception, cells).map_or_else(String::new, |line| {
        let place = line.split(" in ").next().unwrap_or(&line);
        format!(" at {}", place.strip_prefix(&directory).unwrap_or(place))
    });
    format!("{}{place}", exception.type_name)
}

#[cfg(test)]
mod tests {
    use super::in_threads;
    use outlive_diagnose::thread_exceptions::ThreadException;

    #[test]
    fn of_many_threads_that_died_a_few_are_named() {
        let died = ThreadException {
            pid: 1,
            thread: "loader".to_owned(),
            type_name: "ValueError".to_owned(),
            message: "too few".to_owned(),
            place: Some("/home/a/thr.py:3 in load".to_owned()),
            line: None,
        };
        let lines = in_threads(&vec![died; 6]);
        assert_eq!(
            lines[0],
            "loader: ValueError: too few at /home/a/thr.py:3 in load"
        );
        assert_eq!(lines[4], "and 2 more");
    }
}
