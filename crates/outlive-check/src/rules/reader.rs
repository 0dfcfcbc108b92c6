//! Calls that read an array, a picture or a table from a file: as large as it is, decoded.

use crate::model::facts::Call;

/// Functions that read an array or picture from a file.
const READERS: [&str; 26] = [
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_wav",
    "fromfile",
    "genfromtxt",
    "imread",
    "load_img",
    "loadmat",
    "loadtxt",
    "read_csv",
    "read_file",
    "read_image",
    "read_parquet",
    "read_video",
    "numpy.load",
    "librosa.load",
    "torchaudio.load",
    "soundfile.read",
    "PIL.Image.open",
    "nibabel.load",
    "read_hdf",
    "read_feather",
    "imdecode",
    "dcmread",
    "open_dataset",
];

/// Whether a call is one of them.
pub(super) fn is_reader(call: &Call<'_>) -> bool {
    READERS.iter().any(|reader| {
        call.name == *reader || call.path.as_deref().is_some_and(|path| path == *reader)
    })
}
