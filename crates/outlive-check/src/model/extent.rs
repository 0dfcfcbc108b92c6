//! Shapes, data types and the bytes they come to.

/// The data type of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dtype {
    /// As people write it.
    pub name: &'static str,
    /// Bytes of one element.
    pub size: u64,
}

const DTYPES: [(&str, u64); 28] = [
    ("float64", 8),
    ("double", 8),
    ("float32", 4),
    ("float", 4),
    ("float16", 2),
    ("half", 2),
    ("bfloat16", 2),
    ("int64", 8),
    ("long", 8),
    ("int32", 4),
    ("int", 4),
    ("int16", 2),
    ("short", 2),
    ("int8", 1),
    ("uint8", 1),
    ("uint16", 2),
    ("uint32", 4),
    ("uint64", 8),
    ("bool", 1),
    ("bool_", 1),
    ("complex64", 8),
    ("complex128", 16),
    ("cfloat", 8),
    ("cdouble", 16),
    ("single", 4),
    ("longdouble", 16),
    ("float8_e4m3fn", 1),
    ("float8_e5m2", 1),
];

impl Dtype {
    /// What torch and TensorFlow make unless told otherwise.
    pub const FLOAT32: Self = Self {
        name: "float32",
        size: 4,
    };
    /// What NumPy makes unless told otherwise.
    pub const FLOAT64: Self = Self {
        name: "float64",
        size: 8,
    };
    /// Whole numbers unless told otherwise.
    pub const INT64: Self = Self {
        name: "int64",
        size: 8,
    };

    /// Whole numbers of TensorFlow and JAX.
    pub const INT32: Self = Self {
        name: "int32",
        size: 4,
    };
    /// Truth values.
    pub const BOOL: Self = Self {
        name: "bool",
        size: 1,
    };

    /// The type of this name, as an attribute of a library or as text.
    pub fn named(name: &str) -> Option<Self> {
        let (name, size) = DTYPES.iter().copied().find(|(it, _)| *it == name)?;
        Some(Self { name, size })
    }

    /// The type of a code of NumPy: `f4`, `<u2`.
    pub fn coded(code: &str) -> Option<Self> {
        let name = match code.trim_start_matches(['<', '>', '=', '|']) {
            "f8" | "d" => "float64",
            "f4" | "f" => "float32",
            "f2" => "float16",
            "i8" => "int64",
            "u8" => "uint64",
            "i4" => "int32",
            "u4" => "uint32",
            "i2" => "int16",
            "u2" => "uint16",
            "i1" => "int8",
            "u1" | "b1" | "?" => "uint8",
            "c8" => "complex64",
            "c16" => "complex128",
            _ => return None,
        };
        Self::named(name)
    }

    /// What Python's own type of this name is as a data type.
    pub fn of_python(name: &str) -> Option<Self> {
        Some(match name {
            "float" => Self::FLOAT64,
            "int" => Self::INT64,
            "bool" => Self::BOOL,
            "complex" => Self::named("complex128")?,
            _ => return None,
        })
    }

    /// Whether it holds whole numbers or truth values.
    pub fn is_whole(self) -> bool {
        ["int", "uint", "long", "short", "bool"]
            .iter()
            .any(|start| self.name.starts_with(start))
    }
}

/// A shape and a data type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The length of each axis.
    pub shape: Vec<u64>,
    /// The type of an element.
    pub dtype: Dtype,
}

impl Extent {
    /// How many elements it has.
    pub fn elements(&self) -> u64 {
        self.shape
            .iter()
            .fold(1, |product: u64, axis| product.saturating_mul(*axis))
    }

    /// How many bytes they take.
    pub fn bytes(&self) -> u64 {
        self.elements().saturating_mul(self.dtype.size)
    }

    /// The same shape in another type.
    #[must_use]
    pub fn with_dtype(&self, dtype: Dtype) -> Self {
        Self {
            shape: self.shape.clone(),
            dtype,
        }
    }

    /// The shape as Python writes it: `(10000, 3)`.
    pub fn shape_text(&self) -> String {
        let axes: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        match axes.as_slice() {
            [one] => format!("({one},)"),
            more => format!("({})", more.join(", ")),
        }
    }

    /// The axes in the opposite order.
    pub fn transposed(&self) -> Option<Self> {
        let shape = self.shape.iter().rev().copied().collect();
        let dtype = self.dtype;
        Some(Self { shape, dtype })
    }

    /// The size of the matrix product with another.
    pub fn product(&self, other: &Self) -> Option<Self> {
        let mut shape = self.shape.clone();
        let inner = shape.pop()?;
        match other.shape.as_slice() {
            [only] if *only == inner => {}
            [.., rows, columns] if *rows == inner => shape.push(*columns),
            _ => return None,
        }
        Some(Self {
            shape,
            dtype: self.dtype,
        })
    }

    /// The size of an operation with another, element by element.
    pub fn broadcast(&self, other: &Self) -> Option<Self> {
        let longest = self.shape.len().max(other.shape.len());
        let axis = |shape: &[u64], index: usize| {
            let missing = longest - shape.len();
            let own = index.checked_sub(missing);
            own.and_then(|index| shape.get(index).copied()).unwrap_or(1)
        };
        let mut shape = Vec::with_capacity(longest);
        for index in 0..longest {
            match (axis(&self.shape, index), axis(&other.shape, index)) {
                (one, two) if one == two => shape.push(one),
                (1, axis) | (axis, 1) => shape.push(axis),
                _ => return None,
            }
        }
        let is_wider = self.dtype.size >= other.dtype.size;
        let dtype = if is_wider { self.dtype } else { other.dtype };
        Some(Self { shape, dtype })
    }
}

/// Bytes as people read them: three digits, in powers of 1024.
pub fn bytes_text(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = match value {
        _ if unit == 0 => 0,
        small if small < 10.0 => 2,
        middle if middle < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {}", UNITS[unit.min(UNITS.len() - 1)])
}
