//! A cause: why memory ran out, from the catalogue, with the line to change.

use outlive_check::Rule;

use crate::place::Line;

/// Declares the causes: the word each has in JSON, in the rules of `check`, in the documentation
/// and in tests; what happened, in a few words; and what to change where no finding says it better.
macro_rules! cause_ids {
    ($($(#[doc = $meaning:literal])+ $variant:ident = $word:literal, $title:literal, $change:literal;)+) => {
        /// Why memory ran out. The words are stable; `docs/causes.md` has a row for each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum CauseId { $($(#[doc = $meaning])+ $variant,)+ }

        impl CauseId {
            /// Every cause.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Its word.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// What happened, as a sentence without a full stop.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)+ }
            }

            /// What to change, as an order without a full stop.
            pub const fn change(self) -> &'static str {
                match self { $(Self::$variant => $change,)+ }
            }
        }
    };
}

cause_ids! {
    /// A grid or a stack of too many or too large images.
    OversizedGrid = "oversized_grid",
        "One grid or stack is made of too many images at once",
        "Use `outlive.make_grid`, which makes no copies, or show fewer images; `outlive grid` for files";
    /// One tensor or operation larger than memory.
    OversizedTensor = "oversized_tensor",
        "One call makes more than fits into memory",
        "Use a smaller dtype, work in chunks, or map a file (`numpy.memmap`)";
    /// Results kept in a list, a dict or a figure.
    ResultsKeptInLoop = "results_kept_in_loop",
        "The results of every turn of a loop are kept",
        "Keep a number or a small copy of each (`.item()`, `.detach().cpu()`), or write them to disk; \
         close figures";
    /// Losses or outputs kept with their graph.
    AutogradHistoryKept = "autograd_history_kept",
        "The autograd history of every batch is kept",
        "Keep `float(loss)` or `x.detach()` instead of the tensor with its history";
    /// A large local that lives into the next turn.
    IntermediateOutlivesLoop = "intermediate_outlives_loop",
        "A large value of one turn is still alive when the next one is made",
        "`del` it at the end of the turn, or put the turn into a function";
    /// A recurrent network over a sequence without a bound.
    UnboundedSequence = "unbounded_sequence",
        "A recurrent network remembers every step of a long sequence",
        "Detach the state every few steps, and give the sequence in pieces";
    /// Weights, gradients and optimizer state.
    OversizedLayer = "oversized_layer",
        "A layer does not fit with its gradients and the state of its optimizer",
        "Make the layer smaller or factorise it, or use an optimizer with less state";
    /// An evaluation that records a graph.
    InferenceWithGradients = "inference_with_gradients",
        "An evaluation records gradients that nobody uses",
        "Evaluate under `torch.inference_mode()`";
    /// Buffers of an input pipeline.
    UnboundedPrefetch = "unbounded_prefetch",
        "The buffers of an input pipeline hold more than fits",
        "Give `prefetch` and `shuffle` a number of elements that fits, and shuffle before batching";
    /// Parallel calls of an input pipeline.
    UnboundedParallelMap = "unbounded_parallel_map",
        "An input pipeline works on more elements at once than fit",
        "Give `num_parallel_calls` or `num_workers` a number that fits";
    /// A damaged record of a data set.
    CorruptRecord = "corrupt_record",
        "A record of the data set cannot be read",
        "Catch the error where the record is read and leave it out, or check the files before";
    /// Sessions kept open.
    SessionNotClosed = "session_not_closed",
        "Sessions are kept open, each with its variables",
        "Open each session in a `with` block, or close it";
    /// Variables, layers or graphs made again and again.
    VariablesCreatedInLoop = "variables_created_in_loop",
        "Variables or layers are created again in every turn",
        "Create them once, before the loop";
    /// A second attempt inside the handler of the first.
    RecoveryInsideExcept = "recovery_inside_except",
        "The program tried again while the exception still held the memory",
        "Leave the `except` clause before trying again, or use `outlive.retry`";
    /// Workers with equal random states.
    DuplicateWorkerSeeds = "duplicate_worker_seeds",
        "Workers draw the same random numbers",
        "Seed each worker in `worker_init_fn`";
    /// Replicas that pad to different lengths.
    UnevenPaddingInReplicas = "uneven_padding_in_replicas",
        "The replicas of a model padded their sequences to different lengths",
        "Give `pad_packed_sequence` the `total_length` of the whole batch";
    /// Memory of a GPU that is reserved and not used.
    FragmentedCache = "fragmented_cache",
        "The GPU's memory is reserved in pieces that do not fit the request",
        "Set `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`";
    /// Memory of a GPU held by the children of a dead run.
    OrphanedGpuProcess = "orphaned_gpu_process",
        "A process of an earlier run still holds memory of the GPU",
        "End that process";
    /// Other processes filled the memory.
    ContendedMemory = "contended_memory",
        "Other processes took the memory",
        "End or limit the others, or run where memory is set aside for this program";
    /// The GPU or its driver failed.
    DriverFault = "driver_fault",
        "The GPU or its driver failed",
        "Do what the fault asks for: restart the program, reset the GPU, or reboot";
    /// An exception that ended a thread.
    UncaughtInThread = "uncaught_in_thread",
        "An exception ended a thread, and nobody was told",
        "Catch it in the thread's function, or ask for the result of the thread";
    /// A worker of a loader or a pool ran out of memory.
    WorkerKilled = "worker_killed",
        "The workers of a loader or a pool grew until memory ran out",
        "Use fewer workers, keep nothing in them between tasks, and hold data in arrays instead of \
         lists of Python objects";
    /// `/dev/shm` is too small.
    SharedMemoryFull = "shared_memory_full",
        "The shared memory of the workers was full",
        "Give the container more (`--shm-size`), or use fewer workers and smaller batches";
    /// Memory that grows below Python.
    NativeLeak = "native_leak",
        "Memory grew below Python, where no object of the program holds it",
        "Free what the library hands over, or upgrade it";
}

impl CauseId {
    /// The cause of this word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|id| id.as_str() == word)
    }
}

/// How sure a cause is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sureness {
    /// It fits, and little speaks for it.
    Low,
    /// What was recorded fits it best, another cause is possible.
    Medium,
    /// What was recorded means nothing else, or the source says the same.
    High,
}

impl Sureness {
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// Why memory ran out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Which one.
    pub id: CauseId,
    /// How sure.
    pub sureness: Sureness,
    /// The line to change: of what is kept, the one that keeps it.
    pub line: Option<Line>,
    /// What stands there.
    pub text: Option<String>,
    /// One sentence: what happens, with the figures that are known.
    pub summary: String,
    /// What was recorded, and what the source shows.
    pub evidence: Vec<String>,
    /// What to change.
    pub change: String,
    /// The rule that found it in the source.
    pub rule: Option<&'static Rule>,
}

impl Cause {
    /// A cause as the catalogue has it.
    pub(crate) fn new(id: CauseId, sureness: Sureness) -> Self {
        Self {
            id,
            sureness,
            line: None,
            text: None,
            summary: id.title().to_owned(),
            evidence: Vec::new(),
            change: id.change().to_owned(),
            rule: None,
        }
    }

    /// Adds what it rests on.
    pub(crate) fn because(mut self, evidence: impl Into<String>) -> Self {
        self.evidence.push(evidence.into());
        self
    }

    /// Says where.
    pub(crate) fn at(mut self, line: Option<Line>) -> Self {
        self.line = line;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::CauseId;

    #[test]
    fn every_rule_leads_to_a_cause_of_the_catalogue() {
        for rule in outlive_check::rules::ALL {
            assert!(
                rule.cause.is_empty() || CauseId::named(rule.cause).is_some(),
                "{}: {}",
                rule.code,
                rule.cause
            );
        }
    }

    #[test]
    fn the_documentation_has_a_row_for_each() {
        let page = include_str!("../../../docs/causes.md");
        for id in CauseId::ALL {
            let row = format!("| `{}` | {} | {} |", id.as_str(), id.title(), id.change());
            assert!(page.contains(&row), "no row like this: {row}");
        }
    }
}
