//! Small symmetric matrices, packed as their lower triangles, row after row.
//!
//! One is factorised at every node of the prior for each iteration. At `a − 1 ≤ 11` rows plain loops on a packed triangle are faster than calls of
//! a general library; larger systems are solved by faer.

/// The number of entries of the triangle of an `n × n` matrix, and the index of the first entry of row `n`.
pub(super) fn entries(n: usize) -> usize {
    n * (n + 1) / 2
}

/// `lᵀ M r`.
pub(super) fn bilinear(triangle: &[f64], left: &[f64], right: &[f64]) -> f64 {
    let mut sum = 0.0;
    for x in 0..left.len() {
        let row = &triangle[entries(x)..=entries(x) + x];
        for (z, entry) in row[..x].iter().enumerate() {
            sum += entry * (left[x] * right[z] + left[z] * right[x]);
        }
        sum += row[x] * left[x] * right[x];
    }
    sum
}

/// Adds `weight · d dᵀ`.
pub(super) fn add_square(triangle: &mut [f64], d: &[f64], weight: f64) {
    let mut k = 0;
    for (i, d_i) in d.iter().enumerate() {
        for d_j in &d[..=i] {
            triangle[k] += weight * d_i * d_j;
            k += 1;
        }
    }
}

/// The inverse `L⁻¹` of the Cholesky factor of a positive definite matrix; `None` if it is not positive definite.
pub(super) fn inverse_factor(triangle: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut factor = triangle.to_vec();
    let at = |i: usize, j: usize| entries(i) + j;
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| factor[at(i, k)] * factor[at(j, k)]).sum();
            let value = factor[at(i, j)] - sum;
            if j < i {
                factor[at(i, j)] = value / factor[at(j, j)];
            } else if value > 0.0 {
                factor[at(i, i)] = value.sqrt();
            } else {
                return None;
            }
        }
    }
    let mut inverse = vec![0.0; factor.len()];
    for j in 0..n {
        inverse[at(j, j)] = 1.0 / factor[at(j, j)];
        for i in j + 1..n {
            let sum: f64 = (j..i).map(|k| factor[at(i, k)] * inverse[at(k, j)]).sum();
            inverse[at(i, j)] = -sum / factor[at(i, i)];
        }
    }
    Some(inverse)
}

/// The columns of `L⁻¹` by input, with one more for the input `reference`, so that all columns add up to zero: the product with `v` is `L⁻¹ d` for
/// `d_x = v_x − v_reference`.
pub(super) fn difference_columns(inverse_factor: &[f64], inputs: usize, reference: usize) -> Vec<Vec<f64>> {
    let n = inputs - 1;
    let mut columns = vec![vec![0.0; n]; inputs];
    for (j, x) in (0..inputs).filter(|x| *x != reference).enumerate() {
        for i in j..n {
            columns[x][i] = inverse_factor[entries(i) + j];
            columns[reference][i] -= inverse_factor[entries(i) + j];
        }
    }
    columns
}

/// The triangle of `K` with `vᵀ K v = dᵀ J⁻¹ d` for `d_x = v_x − v_reference`, one row and column more than `J`; `None` if `J` is not positive definite.
pub(super) fn inverse_of_differences(triangle: &[f64], inputs: usize, reference: usize) -> Option<Vec<f64>> {
    let columns = difference_columns(&inverse_factor(triangle, inputs - 1)?, inputs, reference);
    let product = |x: usize, z: usize| columns[x].iter().zip(&columns[z]).map(|(l, r)| l * r).sum();
    Some((0..inputs).flat_map(|x| (0..=x).map(move |z| (x, z))).map(|(x, z)| product(x, z)).collect())
}

/// `L⁻¹ J L⁻ᵀ`, with the entries off the diagonal times `√2`, so that scalar products of triangles are traces of products.
pub(super) fn whitened(inverse_factor: &[f64], triangle: &[f64], n: usize, out: &mut [f64]) {
    let entry = |i: usize, j: usize| if i >= j { triangle[entries(i) + j] } else { triangle[entries(j) + i] };
    let mut half = [0.0; MAX_SIZE * MAX_SIZE];
    for i in 0..n {
        for j in 0..n {
            half[i * n + j] = (0..=i).map(|k| inverse_factor[entries(i) + k] * entry(k, j)).sum();
        }
    }
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = (0..=j).map(|k| half[i * n + k] * inverse_factor[entries(j) + k]).sum();
            out[entries(i) + j] = if i == j { sum } else { std::f64::consts::SQRT_2 * sum };
        }
    }
}

/// [`whitened`] for `J = d dᵀ / likelihood`; `d` is overwritten.
pub(super) fn whitened_square(inverse_factor: &[f64], d: &mut [f64], likelihood: f64, out: &mut [f64]) {
    for i in (0..d.len()).rev() {
        let row = &inverse_factor[entries(i)..=entries(i) + i];
        d[i] = row.iter().zip(&*d).map(|(l, d)| l * d).sum();
    }
    for (i, d_i) in d.iter().enumerate() {
        let scale = std::f64::consts::SQRT_2 * d_i / likelihood;
        d[..i].iter().zip(&mut out[entries(i)..]).for_each(|(d_j, entry)| *entry = scale * d_j);
        out[entries(i) + i] = d_i * d_i / likelihood;
    }
}

/// The largest matrix that [`whitened`] takes.
pub(super) const MAX_SIZE: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_whitened_by_itself_is_the_identity() {
        let mut matrix = vec![0.0; entries(3)];
        for (d, weight) in [([1.0, 2.0, 0.5], 1.0), ([0.0, 1.0, -3.0], 2.0), ([4.0, 0.0, 1.0], 0.1)] {
            add_square(&mut matrix, &d, weight);
        }
        let inverse = inverse_factor(&matrix, 3).unwrap();
        let mut out = vec![0.0; 6];
        whitened(&inverse, &matrix, 3, &mut out);
        let identity = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0];
        assert!(out.iter().zip(identity).all(|(l, r)| (l - r).abs() < 1e-12), "{out:?}");
        // The trace of a whitened d dᵀ is dᵀ J⁻¹ d.
        let mut square = vec![0.0; 6];
        add_square(&mut square, &[1.0, -1.0, 2.0], 1.0);
        whitened(&inverse, &square, 3, &mut out);
        let mut again = vec![0.0; 6];
        whitened_square(&inverse, &mut [1.0, -1.0, 2.0], 1.0, &mut again);
        assert!(out.iter().zip(&again).all(|(l, r)| (l - r).abs() < 1e-12), "{out:?} {again:?}");
        let trace = out[0] + out[2] + out[5];
        // The same from values that are 3 at the reference.
        for (reference, v) in [(0, [3.0, 4.0, 2.0, 5.0]), (2, [4.0, 2.0, 3.0, 5.0])] {
            let form = inverse_of_differences(&matrix, 4, reference).unwrap();
            let entry = |x: usize, z: usize| form[entries(x.max(z)) + x.min(z)];
            let square: f64 = (0..4).map(|x| (0..4).map(|z| entry(x, z) * v[x] * v[z]).sum::<f64>()).sum();
            assert!((trace / square - 1.0).abs() < 1e-11, "{square} {trace}");
        }
    }

    #[test]
    fn singular_matrices_have_no_factor() {
        assert!(inverse_factor(&[1.0, 1.0, 1.0], 2).is_none());
    }
}
