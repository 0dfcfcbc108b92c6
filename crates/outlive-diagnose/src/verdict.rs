//! A verdict: what ended a process, how sure that is, and what the sentence rests on.

/// Declares the verdicts and the word each has in JSON, in the documentation and in tests.
macro_rules! verdict_ids {
    ($($(#[doc = $meaning:literal])+ $variant:ident = $word:literal,)+) => {
        /// What ended a process. The words are stable; `docs/verdicts.md` has a row for each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum VerdictId { $($(#[doc = $meaning])+ $variant,)+ }

        impl VerdictId {
            /// Every verdict.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Its word.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }
    };
}

verdict_ids! {
    /// The limit of a memory cgroup was reached and the kernel killed the process.
    OutOfMemoryCgroup = "out_of_memory_cgroup",
    /// The machine ran out of memory and the kernel killed the process.
    OutOfMemoryHost = "out_of_memory_host",
    /// The kernel killed a whole cgroup for one process's memory.
    OutOfMemoryGroupKill = "out_of_memory_group_kill",
    /// The cgroup limit that was reached is a Slurm job's.
    SlurmOutOfMemory = "slurm_out_of_memory",
    /// The systemd-oomd daemon killed the cgroup.
    KilledBySystemdOomd = "killed_by_systemd_oomd",
    /// The earlyoom daemon (or nohang) killed the process.
    KilledByEarlyoom = "killed_by_earlyoom",
    /// Ray's memory monitor killed the worker.
    KilledByRay = "killed_by_ray",
    /// Dask's nanny killed the worker.
    KilledByDask = "killed_by_dask",
    /// An allocation was refused and the exception was not caught.
    AllocationRefused = "allocation_refused",
    /// An allocation was refused in C++ or Rust code, which aborted.
    CxxAllocationRefused = "cxx_allocation_refused",
    /// Outlive stopped growth by an exception that was not caught.
    GrowthStopped = "growth_stopped",
    /// The GPU's memory ran out and the exception was not caught.
    GpuOutOfMemory = "gpu_out_of_memory",
    /// `/dev/shm` was full.
    SharedMemoryFull = "shared_memory_full",
    /// Another bus error.
    BusError = "bus_error",
    /// A read or write outside mapped memory.
    SegmentationFault = "segmentation_fault",
    /// An address the processor refuses.
    GeneralProtectionFault = "general_protection_fault",
    /// The stack was used up.
    StackOverflow = "stack_overflow",
    /// An instruction the processor does not have.
    IllegalInstruction = "illegal_instruction",
    /// An integer division by zero.
    DivideError = "divide_error",
    /// Two OpenMP runtimes in one process.
    OpenmpLoadedTwice = "openmp_loaded_twice",
    /// Two versions of protobuf, or one registered twice.
    ProtobufConflict = "protobuf_conflict",
    /// cuDNN or cuBLAS could not be loaded.
    CudnnLoadFailed = "cudnn_load_failed",
    /// The C library found its heap damaged.
    HeapCorruption = "heap_corruption",
    /// An error of CUDA in C++ code, which aborted.
    CudaAbort = "cuda_abort",
    /// A collective operation waited for a peer that did not answer.
    NcclTimeout = "nccl_timeout",
    /// The interpreter gave up.
    FatalPythonError = "fatal_python_error",
    /// An abort whose reason nobody wrote down.
    Aborted = "aborted",
    /// The GPU or its driver reported a fault.
    GpuFault = "gpu_fault",
    /// Driver and library of the GPU have different versions.
    DriverMismatch = "driver_mismatch",
    /// A module built for another NumPy.
    NumpyAbiMismatch = "numpy_abi_mismatch",
    /// No more threads or processes could be started.
    ThreadsExhausted = "threads_exhausted",
    /// No more files could be opened.
    DescriptorsExhausted = "descriptors_exhausted",
    /// CUDA was used before and after a fork.
    ForkAfterCuda = "fork_after_cuda",
    /// Somebody sent the signal, and no trace of the kernel's doing was found.
    KilledFromOutside = "killed_from_outside",
    /// The limit of processor time was reached.
    CpuLimit = "cpu_limit",
    /// A sandbox refused a system call.
    Seccomp = "seccomp",
    /// The limit of file size was reached.
    FileSizeLimit = "file_size_limit",
    /// A file system was full.
    DiskFull = "disk_full",
    /// Asked to end by SIGTERM.
    Terminated = "terminated",
    /// The terminal or the connection was closed.
    HungUp = "hung_up",
    /// Interrupted from the keyboard.
    Interrupted = "interrupted",
    /// Ended by a signal without a row of its own.
    KilledBySignal = "killed_by_signal",
    /// A Python exception nobody caught.
    UncaughtException = "uncaught_exception",
    /// Never came as far as its own work.
    FailedAtStart = "failed_at_start",
    /// Ended itself with a code other than 0.
    ExitedWithCode = "exited_with_code",
    /// Ended with code 0.
    Finished = "finished",
    /// Still running, though a process it may wait for died.
    Hang = "hang",
    /// Still running.
    Running = "running",
    /// No end was recorded.
    SupervisorLost = "supervisor_lost",
}

impl VerdictId {
    /// Whether memory of the host ran short, so that its holders are the answer.
    pub const fn is_about_memory(self) -> bool {
        matches!(
            self,
            Self::OutOfMemoryCgroup
                | Self::OutOfMemoryHost
                | Self::OutOfMemoryGroupKill
                | Self::SlurmOutOfMemory
                | Self::KilledBySystemdOomd
                | Self::KilledByEarlyoom
                | Self::KilledByRay
                | Self::KilledByDask
                | Self::AllocationRefused
                | Self::CxxAllocationRefused
                | Self::GrowthStopped
        )
    }

    /// Whether the kernel's own out-of-memory killer did it.
    pub const fn is_kernel_kill(self) -> bool {
        matches!(
            self,
            Self::OutOfMemoryCgroup
                | Self::OutOfMemoryHost
                | Self::OutOfMemoryGroupKill
                | Self::SlurmOutOfMemory
        )
    }
}

/// How sure a verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Nothing speaks against it, and little for it.
    Unproved,
    /// The evidence fits, another explanation is possible.
    Likely,
    /// Whoever did it left a mark that means nothing else.
    Proved,
}

impl Confidence {
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Proved => "proved",
            Self::Likely => "likely",
            Self::Unproved => "unproved",
        }
    }
}

/// What ended a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Which one.
    pub id: VerdictId,
    /// How sure.
    pub confidence: Confidence,
    /// One sentence, true as it stands.
    pub summary: String,
    /// What was read, with its values.
    pub evidence: Vec<String>,
    /// What to do.
    pub advice: Vec<String>,
    /// What was checked and showed no sign.
    pub ruled_out: Vec<String>,
    /// What could not be checked, and why.
    pub not_checked: Vec<String>,
}

impl Verdict {
    /// A verdict without evidence yet.
    pub(crate) fn new(id: VerdictId, confidence: Confidence, summary: impl Into<String>) -> Self {
        let mut summary = summary.into();
        // Names of processes are written as they are; other words start a sentence.
        if summary.starts_with("the ") {
            summary.replace_range(..1, "T");
        }
        Self {
            id,
            confidence,
            summary,
            evidence: Vec::new(),
            advice: Vec::new(),
            ruled_out: Vec::new(),
            not_checked: Vec::new(),
        }
    }

    /// Adds what it rests on.
    pub(crate) fn because(mut self, evidence: impl Into<String>) -> Self {
        self.evidence.push(evidence.into());
        self
    }

    /// Adds several lines of evidence.
    pub(crate) fn because_all(mut self, evidence: impl IntoIterator<Item = String>) -> Self {
        self.evidence.extend(evidence);
        self
    }

    /// Adds what to do, if there is something.
    pub(crate) fn advise_all(mut self, advice: impl IntoIterator<Item = String>) -> Self {
        self.advice.extend(advice);
        self
    }

    /// Adds what to do.
    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice.push(advice.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::VerdictId;

    #[test]
    fn words_are_snake_case_and_unique() {
        let mut words: Vec<&str> = VerdictId::ALL.iter().map(|id| id.as_str()).collect();
        assert!(
            words
                .iter()
                .all(|word| word.chars().all(|c| c == '_' || c.is_ascii_lowercase()))
        );
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count);
    }

    #[test]
    fn the_documentation_has_a_row_for_each() {
        let page = include_str!("../../../docs/verdicts.md");
        for id in VerdictId::ALL {
            assert!(
                page.contains(&format!("| `{}` |", id.as_str())),
                "no row for {}",
                id.as_str()
            );
        }
    }
}
