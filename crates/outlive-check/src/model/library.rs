//! What is known of the libraries: names, classes, and what their functions give back.

use std::rc::Rc;

use super::declarations::Family;
use super::value::ModuleRole;

/// Names of one thing that has several.
const ALIASES: [(&str, &str); 16] = [
    ("tensorflow.keras", "keras"),
    ("tensorflow.python.keras", "keras"),
    ("tf_keras", "keras"),
    ("keras.api", "keras"),
    ("tensorflow.compat.v2", "tensorflow"),
    ("tensorflow.compat.v1.data", "tensorflow.data"),
    ("tensorflow.compat.v1.keras", "keras"),
    ("tensorflow.contrib.data", "tensorflow.data"),
    (
        "torch.utils.data.dataloader.DataLoader",
        "torch.utils.data.DataLoader",
    ),
    (
        "torch.utils.data.dataset.Dataset",
        "torch.utils.data.Dataset",
    ),
    ("torch.nn.modules.module.Module", "torch.nn.Module"),
    ("torch.autograd.grad_mode", "torch"),
    ("torch.nn.utils.rnn", "torch.nn.utils.rnn"),
    ("pytorch_lightning", "lightning"),
    ("lightning.pytorch", "lightning"),
    (
        "torch_geometric.data.DataLoader",
        "torch_geometric.loader.DataLoader",
    ),
];

/// The one name of a thing that has several.
pub fn canonical(path: &str) -> Rc<str> {
    for (from, to) in ALIASES {
        if let Some(rest) = path.strip_prefix(from)
            && (rest.is_empty() || rest.starts_with('.'))
        {
            return format!("{to}{rest}").into();
        }
    }
    path.into()
}

/// What deriving from this makes of a class.
pub fn family(base: &str) -> Family {
    match base {
        "torch.nn.Module"
        | "torch.nn.Sequential"
        | "torch.jit.ScriptModule"
        | "transformers.PreTrainedModel"
        | "torch_geometric.nn.MessagePassing" => Family::TorchModule,
        "lightning.LightningModule" | "lightning.core.LightningModule" => Family::LightningModule,
        "torch.utils.data.Dataset"
        | "torch.utils.data.IterableDataset"
        | "torch.utils.data.TensorDataset"
        | "torchvision.datasets.VisionDataset"
        | "torchvision.datasets.ImageFolder" => Family::TorchDataset,
        "keras.Model"
        | "keras.models.Model"
        | "keras.layers.Layer"
        | "keras.Sequential"
        | "keras.engine.topology.Layer"
        | "tensorflow.Module" => Family::Keras,
        _ => Family::Other,
    }
}

/// The torch module that calling this makes.
pub fn module_role(path: &str) -> Option<ModuleRole> {
    let (package, name) = path.rsplit_once('.')?;
    let is_class = name.starts_with(|first: char| first.is_ascii_uppercase());
    match package {
        "torch.nn" | "torch.nn.modules" if is_class => nn_role(name),
        "torchvision.models"
        | "torchvision.models.segmentation"
        | "torchvision.models.detection"
        | "torchvision.models.video" => Some(ModuleRole::Layer),
        "torch_geometric.nn" | "torch_geometric.nn.models" | "segmentation_models_pytorch"
            if is_class =>
        {
            Some(ModuleRole::Layer)
        }
        "timm" | "torch.hub" if matches!(name, "create_model" | "load") => Some(ModuleRole::Layer),
        _ => transformers_role(package, name),
    }
}

fn nn_role(name: &str) -> Option<ModuleRole> {
    match name {
        "Parameter" | "ParameterList" | "ParameterDict" | "Module" | "ModuleList"
        | "ModuleDict" => None,
        "LSTM" | "GRU" | "RNN" | "LSTMCell" | "GRUCell" | "RNNCell" => Some(ModuleRole::Recurrent),
        _ if name.ends_with("Loss") => Some(ModuleRole::Loss),
        "CosineSimilarity" | "PairwiseDistance" => Some(ModuleRole::Loss),
        _ => Some(ModuleRole::Layer),
    }
}

fn transformers_role(package: &str, name: &str) -> Option<ModuleRole> {
    let class = package.strip_prefix("transformers.")?;
    let is_torch = !class.starts_with("TF") && !class.starts_with("Flax");
    let is_model = class.contains("Model") || class.contains("For");
    let makes = name == "from_pretrained" || name == "from_config";
    (makes && is_torch && is_model && !class.contains("Tokenizer")).then_some(ModuleRole::Layer)
}

/// The type of the object that calling this makes, where rules look at it.
pub fn object_class(path: &str) -> Option<&'static str> {
    Some(match path {
        "torch.utils.data.TensorDataset" => TORCH_DATASET,
        "torch.utils.data.DataLoader"
        | "torch_geometric.loader.DataLoader"
        | "monai.data.DataLoader" => LOADER,
        "tensorflow_datasets.load"
        | "keras.utils.image_dataset_from_directory"
        | "keras.preprocessing.image_dataset_from_directory"
        | "keras.utils.text_dataset_from_directory"
        | "keras.preprocessing.text_dataset_from_directory"
        | "keras.utils.timeseries_dataset_from_array"
        | "keras.utils.audio_dataset_from_directory"
        | "tensorflow.data.TFRecordDataset"
        | "tensorflow.data.TextLineDataset"
        | "tensorflow.data.FixedLengthRecordDataset"
        | "tensorflow.data.experimental.CsvDataset"
        | "tensorflow.data.experimental.make_csv_dataset" => TF_DATASET,
        "tensorflow.Session"
        | "tensorflow.compat.v1.Session"
        | "tensorflow.InteractiveSession"
        | "tensorflow.compat.v1.InteractiveSession" => TF_SESSION,
        "keras.Sequential"
        | "keras.models.Sequential"
        | "keras.Model"
        | "keras.models.Model"
        | "keras.models.load_model" => KERAS_MODEL,
        "pandas.DataFrame" | "pandas.concat" | "pandas.read_csv" | "pandas.read_parquet" => FRAME,
        "matplotlib.pyplot.figure" => FIGURE,
        _ if path.starts_with("torchvision.datasets.") && is_class(path) => PICTURES,
        _ if path.starts_with("tensorflow.data.Dataset.") => TF_DATASET,
        _ if is_application(path) => KERAS_MODEL,
        _ if path.starts_with("torch.optim.") && !path.contains("lr_scheduler") => OPTIMIZER,
        _ => return None,
    })
}

/// `keras.applications.ResNet50`, not `keras.applications.resnet50.preprocess_input`.
fn is_application(path: &str) -> bool {
    let name = path.strip_prefix("keras.applications.");
    let name = name.and_then(|rest| rest.rsplit('.').next());
    name.is_some_and(|name| name.starts_with(|first: char| first.is_ascii_uppercase()))
}

/// Whether the last name of a path is that of a class.
pub fn is_class(path: &str) -> bool {
    let name = path.rsplit('.').next().unwrap_or(path);
    name.starts_with(|first: char| first.is_ascii_uppercase())
}

/// A set of pictures of torchvision.
pub const PICTURES: &str = "torchvision.datasets.VisionDataset";
/// A data loader of torch.
pub const LOADER: &str = "torch.utils.data.DataLoader";
/// Tensors of torch as a data set.
pub const TORCH_DATASET: &str = "torch.utils.data.TensorDataset";
/// A pipeline of TensorFlow.
pub const TF_DATASET: &str = "tensorflow.data.Dataset";
/// A session of TensorFlow 1.
pub const TF_SESSION: &str = "tensorflow.Session";
/// A model of Keras.
pub const KERAS_MODEL: &str = "keras.Model";
/// A table of pandas.
pub const FRAME: &str = "pandas.DataFrame";
/// A figure of matplotlib.
pub const FIGURE: &str = "matplotlib.figure.Figure";
/// An optimizer of torch.
pub const OPTIMIZER: &str = "torch.optim.Optimizer";

/// Methods of a `tf.data.Dataset` that give a dataset back.
pub const TF_DATASET_METHODS: [&str; 27] = [
    "apply",
    "batch",
    "cache",
    "concatenate",
    "enumerate",
    "filter",
    "flat_map",
    "group_by_window",
    "ignore_errors",
    "interleave",
    "map",
    "padded_batch",
    "prefetch",
    "ragged_batch",
    "rebatch",
    "rejection_resample",
    "repeat",
    "scan",
    "shard",
    "shuffle",
    "skip",
    "snapshot",
    "take",
    "take_while",
    "unbatch",
    "window",
    "with_options",
];

/// Methods that turn a tensor into a Python number, list or NumPy array: nothing hangs on them.
pub const LEAVES_TORCH: [&str; 3] = ["item", "tolist", "numpy"];

/// Methods and functions of tensors whose result never has a history.
pub const WITHOUT_HISTORY: [&str; 28] = [
    "detach",
    "detach_",
    "argmax",
    "argmin",
    "argsort",
    "eq",
    "ne",
    "gt",
    "lt",
    "ge",
    "le",
    "size",
    "dim",
    "numel",
    "nonzero",
    "isnan",
    "isinf",
    "isfinite",
    "any",
    "all",
    "long",
    "int",
    "bool",
    "byte",
    "equal",
    "count_nonzero",
    "new_zeros",
    "new_ones",
];

/// Attributes of a tensor that are no tensors with a history.
pub const PLAIN_ATTRIBUTES: [&str; 12] = [
    "data",
    "shape",
    "dtype",
    "device",
    "ndim",
    "grad",
    "is_cuda",
    "requires_grad",
    "is_leaf",
    "layout",
    "grad_fn",
    "itemsize",
];

/// Functions of torch that make a tensor of nothing: no history.
pub const CREATORS: [&str; 20] = [
    "arange",
    "as_tensor",
    "empty",
    "empty_like",
    "eye",
    "from_numpy",
    "full",
    "full_like",
    "linspace",
    "logspace",
    "normal",
    "ones",
    "ones_like",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randn_like",
    "randperm",
    "zeros",
];

/// Methods of a module that give the module back.
pub const RETURNS_SELF: [&str; 16] = [
    "to",
    "cuda",
    "cpu",
    "eval",
    "train",
    "float",
    "half",
    "double",
    "bfloat16",
    "requires_grad_",
    "share_memory",
    "apply",
    "to_empty",
    "type",
    "ipu",
    "xpu",
];

/// Methods that only a torch module (or an optimizer) has: who calls one of them has a module.
pub const PROVES_MODULE: [&str; 7] = [
    "parameters",
    "named_parameters",
    "load_state_dict",
    "zero_grad",
    "named_modules",
    "eval",
    "train",
];

/// Whether a name is what people call a loss function.
pub fn is_loss_name(name: &str) -> bool {
    let name = name.trim_matches('_').to_ascii_lowercase();
    name.starts_with("criterion")
        || name.ends_with("criterion")
        || matches!(
            name.as_str(),
            "loss" | "lossfn" | "loss_function" | "loss_func" | "loss_f"
        )
        || name.ends_with("_loss")
        || name.ends_with("loss_fn")
        || name.ends_with("lossfn")
        || name.starts_with("loss_fn")
}

/// Whether a name is what people call a data loader.
pub fn is_loader_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("loader") || name.ends_with("_dl") || name == "dl" || name.ends_with("_iter")
}

/// Functions around an iterable that give its elements back.
pub const WRAPPERS: [&str; 14] = [
    "enumerate",
    "tqdm",
    "trange",
    "zip",
    "iter",
    "islice",
    "track",
    "progress_bar",
    "reversed",
    "notebook_tqdm",
    "auto_tqdm",
    "alive_it",
    "prefetcher",
    "log_every",
];

/// Whether a name is what people call one of several results of a model that is no number.
pub fn is_output_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [
        "loss", "logit", "out", "pred", "score", "feat", "emb", "hidden", "state", "recon", "prob",
    ]
    .iter()
    .any(|part| name.contains(part))
        || matches!(
            name.as_str(),
            "h" | "c" | "hn" | "cn" | "hx" | "cx" | "mu" | "y_hat" | "yhat"
        )
}
