//! Prints what a black box holds, for people who work on the format.
#![expect(clippy::print_stdout, reason = "an example prints")]

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: dump FILE")?;
    let bytes = std::fs::read(path)?;
    let recording = outlive_record::read::Recording::read(&bytes)?;
    println!("{:#?}\n{:#?}", recording.identity(), recording.totals());
    let mut stacks: Vec<_> = recording.stacks().collect();
    stacks.sort_by_key(|stack| -stack.live_bytes);
    for stack in stacks.iter().take(12) {
        println!(
            "{:?} live {} ({}) peak {} at-peak {} total {} flags {:b} thread {:?} library {:?} creator {}",
            stack.kind,
            stack.live_bytes,
            stack.live_count,
            stack.peak_bytes,
            stack.at_peak_bytes,
            stack.total_bytes,
            stack.flags,
            recording.thread_name(stack),
            recording.library(stack),
            stack.creator,
        );
        for frame in recording.frames(stack).take(4) {
            println!("    {}:{:?} {}", frame.file, frame.line, frame.function);
        }
    }
    println!(
        "events {:?}",
        recording.events().iter().rev().take(3).collect::<Vec<_>>()
    );
    println!("{:#?}", recording.fatal_signals());
    println!("{:#?}", recording.exceptions());
    println!("{:#?} {:#?}", recording.children(), recording.notes());
    println!(
        "samples {} stderr {:?}",
        recording.samples().len(),
        recording.stderr_tail()
    );
    Ok(())
}
