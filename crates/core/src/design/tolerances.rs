//! Every number that steers the search: tolerances, node counts and limits, by the step that uses them.
//!
//! The formulas use the letters of `docs/design.md`: `h(v)` the sensitivity of a direction, `ρ(v) = h(v) − λᵀv − νℓ(v)` its reduced cost,
//! `Δ = 2(a − 1) · gap` the largest reduced cost that certifies the requested gap, `B` the leakage budget.
//!
//! Only array lengths and switches between two formulas for the same number stay with their code.

/// All tolerances and limits of a design.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tolerances {
    pub limits: Limits,
    pub levels: GapLevels,
    pub generation: Generation,
    pub simplification: Simplification,
    pub nodes: NodeCounts,
    pub cubature: CubatureTolerances,
    pub calibration: Calibration,
    pub control_variate: ControlVariateTolerances,
    pub master: MasterTolerances,
    pub kkt: KktTolerances,
    pub pricing: PricingTolerances,
    pub local_search: LocalSearch,
    pub disclosure: DisclosureTolerances,
    pub rounding: Rounding,
    pub many_inputs: ManyInputsTolerances,
    pub one_user: OneUserTolerances,
}

/// The most inputs of each solver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limits {
    /// Epsilon alone: all `2^a` vertices of the cone are priced.
    pub inputs_epsilon: usize,
    /// Average privacy under an asymmetric prior: the cone is cut into up to `a!` simplicial cones.
    pub inputs_average: usize,
    /// Average privacy under a symmetric prior: one simplicial cone, but orbits grow quickly.
    pub inputs_average_symmetric: usize,
    /// A single report: all `2^a` columns are priced in each step of the simplex method.
    pub inputs_one_user: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { inputs_epsilon: 12, inputs_average: 6, inputs_average_symmetric: 10, inputs_one_user: 12 }
    }
}

/// Which reduced costs each step accepts, as shares of `Δ`. The levels rise along the search, so that a later step can accept what an
/// earlier one left. Raising `ν` costs another share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct GapLevels {
    /// Column generation ends at `max ρ(v) ≤ generation · Δ`. Branch and bound stops halving a cell at the same level.
    pub generation: f64,
    /// Fewer columns are accepted if `max ρ(v) ≤ merging · Δ`.
    pub merging: f64,
    /// A final solution is accepted if no direction has a reduced cost above `accepted · Δ`.
    pub accepted: f64,
    /// The upper bound of branch and bound may rest here once more than `PricingTolerances::quick` directions were priced.
    pub certified: f64,
    /// `ν` is raised by `raise_generation · Δ/B` in column generation. This lowers the reduced cost of a direction that leaks
    /// `m` budgets by `m · raise_generation · Δ`, which covers a sampling error that grows with `m`, and raises the dual value by `raise_generation · Δ`.
    pub raise_generation: f64,
    /// The same for the certificate.
    pub raise_certificate: f64,
}

impl Default for GapLevels {
    fn default() -> Self {
        GapLevels {
            generation: 0.25,
            merging: 0.375,
            accepted: 0.5,
            certified: 0.6,
            raise_generation: 0.1,
            raise_certificate: 0.25,
        }
    }
}

/// Column generation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Generation {
    /// Rounds of master problem and pricing at most.
    pub rounds: usize,
    /// Columns that enter in one round at most.
    pub entering: usize,
    /// Columns enter if `ρ(v) > entering_share · GapLevels::generation · Δ`.
    pub entering_share: f64,
    /// Initial weight of an entering column, and the least initial weight of a column that stays: the interior point starts inside.
    pub entering_weight: f64,
    pub staying_weight: f64,
    /// Columns of a smaller share of the protocol leave.
    pub leaving_share: f64,
    /// Weight of randomised response in the first solution, or less if its leakage would exceed the budget.
    pub first_weight: f64,
    /// An entering row `v` is subtracted from the heaviest row `w` as `w − split_share · v / max(v/w)`, so that both fit into the constraints.
    pub split_share: f64,
    /// How often the certificate's search may find a column that still enters.
    pub repairs: usize,
}

impl Default for Generation {
    fn default() -> Self {
        Generation {
            rounds: 40,
            entering: 16,
            entering_share: 0.1,
            entering_weight: 1e-2,
            staying_weight: 1e-3,
            leaving_share: 1e-6,
            first_weight: 0.5,
            split_share: 0.1,
            repairs: 4,
        }
    }
}

/// Fewer columns for the same certificate. Distances are `Σ_x (√v_x − √u_x)²`, times `(1 − e^{−ε})²`, since all directions of a narrow cone are close.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Simplification {
    /// Columns of a smaller share of the protocol are dropped.
    pub negligible_share: f64,
    /// Columns closer than this are merged; the first distance that keeps the certificate is used.
    pub merging_distances: [f64; 4],
    /// The same for the start of Newton's method on rows.
    pub newton_distances: [f64; 3],
    /// Entries of rows that Newton's method starts from, relative to the row's mean: zeros would stay zeros.
    pub min_newton_entry: f64,
    /// A row whose other entries are below this share of its largest entry becomes a unit row, if an optimum must contain that unit row
    /// (`α_x ≤ 1`). Chosen by trial: random nodes do not reach the small `P_x` at which the two differ.
    pub unit_row_ratio: f64,
}

impl Default for Simplification {
    fn default() -> Self {
        Simplification {
            negligible_share: 1e-5,
            merging_distances: [1e-2, 1e-3, 1e-4, 1e-12],
            newton_distances: [0.5, 0.1, 0.01],
            min_newton_entry: 1e-4,
            unit_row_ratio: 2e-4,
        }
    }
}

/// How many nodes stand for the prior. A column stores `a(a − 1)/2` numbers for each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NodeCounts {
    /// Up to three inputs.
    pub few_inputs: usize,
    /// Four inputs; up to six if only epsilon is limited.
    pub four_inputs: usize,
    /// Five and six inputs if leakage is limited.
    pub five_inputs_limited: usize,
    pub six_inputs_limited: usize,
    /// More inputs.
    pub many_inputs: usize,
    /// The first pass, which only finds the columns that matter, uses so many times fewer.
    pub first_pass_divisor: usize,
    /// Where sampling errors prevent the gap, the next pass uses so many times more.
    pub growth: usize,
    /// Up to `max_entries / (a(a − 1)/2)` nodes: 16 MB for a column.
    pub max_entries: usize,
}

impl Default for NodeCounts {
    fn default() -> Self {
        NodeCounts {
            few_inputs: 6_000,
            four_inputs: 32_768,
            five_inputs_limited: 8_192,
            six_inputs_limited: 16_384,
            many_inputs: 4_096,
            first_pass_divisor: 8,
            growth: 4,
            max_entries: 1 << 21,
        }
    }
}

impl NodeCounts {
    /// Nodes of the first full pass.
    pub(super) fn initial(&self, inputs: usize, is_limited: bool) -> usize {
        match (inputs, is_limited) {
            (..=3, _) => self.few_inputs,
            (4, _) | (5..=6, false) => self.four_inputs,
            (5, true) => self.five_inputs_limited,
            (6, true) => self.six_inputs_limited,
            _ => self.many_inputs,
        }
    }
}

/// Nodes and weights for means over the prior.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CubatureTolerances {
    /// A Gauss rule has the order `n` with `ρ^{−2n} ≤ gauss_error`, `ρ` by the nearest singularity of `1/(v·p)`.
    pub gauss_error: f64,
    /// The lowest order, whatever the singularity.
    pub min_gauss_order: usize,
    /// The logit trapezoid needs many nodes a dimension: it serves at most so many inputs.
    pub trapezoid_inputs: usize,
    /// Its step is `first_step / step_ratio^i`, the smallest within the node count.
    pub first_step: f64,
    pub step_ratio: f64,
    pub steps: i32,
    /// Its error is the larger difference to the rules whose steps are so many times longer. One difference may be small by chance.
    pub coarser_steps: [f64; 2],
    /// Nodes of a tensor rule below this weight are omitted: half of all, in the far tails. Their total weight enters the error.
    pub negligible_weight: f64,
    /// Independent replicates of the quasi-random rule, enough for a Student error.
    pub replicates: usize,
    /// The error of a random mean is so many standard errors: 16 replicates (15 degrees of freedom) exceed four with probability `1e-3`.
    pub standard_errors: f64,
    /// Importance sampling serves directions whose `max v/min v − 1` is larger: their sensitivity grows like `1/P_x` at small `P_x`.
    pub steep_contrast: f64,
    /// And inputs with a parameter in this range. Below it the prior itself has enough nodes at small `P_x`, above it `1/P_x` has a finite variance.
    pub importance_min_alpha: f64,
    pub importance_max_alpha: f64,
    /// If `E[1/P_x]` is infinite (`α_x ≤ 1`), only if the odds of `x` are so many times the least odds: else `1/P_x` is cut off early.
    pub importance_odds_ratio: f64,
    /// The proposal density has the parameter `α_x − 1`, but at least this.
    pub min_proposal_alpha: f64,
    /// `max v/min v − 1` that is assumed where entries may be zero.
    pub contrast_without_epsilon: f64,
    /// The least `p_x` of a node: below it the squares in a Fisher information overflow, and no mean depends on it.
    pub min_probability: f64,
}

impl Default for CubatureTolerances {
    fn default() -> Self {
        CubatureTolerances {
            gauss_error: 1e-6,
            min_gauss_order: 4,
            trapezoid_inputs: 4,
            first_step: 4.0,
            step_ratio: 1.2,
            steps: 24,
            coarser_steps: [1.4, 1.7],
            negligible_weight: 1e-13,
            replicates: 16,
            standard_errors: 4.0,
            steep_contrast: 100.0,
            importance_min_alpha: 0.2,
            importance_max_alpha: 2.0,
            importance_odds_ratio: 10.0,
            min_proposal_alpha: 0.1,
            contrast_without_epsilon: 1e6,
            min_probability: 1e-280,
        }
    }
}

/// Calibrated weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Calibration {
    /// At most one calibration function for so many independent nodes.
    pub nodes_per_function: usize,
    /// The Gram matrix has its diagonal times `1 + ridge`: functions that hardly differ need not be separated.
    pub ridge: f64,
    /// Powers of `P_x` are `power_margin` times the exponent at which their variance becomes infinite.
    pub power_margin: f64,
    /// The disclosure odds among the calibration functions lie between these.
    pub min_odds: f64,
    pub max_odds: f64,
}

impl Default for Calibration {
    fn default() -> Self {
        Calibration { nodes_per_function: 8, ridge: 1e-10, power_margin: 0.9, min_odds: 1e-6, max_odds: 1e12 }
    }
}

/// When a control variate is used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ControlVariateTolerances {
    /// It is tried if the sampling error of a column exceeds this share of the reduced cost that may be seen.
    pub max_relative_error: f64,
    /// It is kept if it leaves less than this share of the error.
    pub max_error_ratio: f64,
}

impl Default for ControlVariateTolerances {
    fn default() -> Self {
        ControlVariateTolerances { max_relative_error: 0.5, max_error_ratio: 0.25 }
    }
}

/// The interior-point method for the restricted master problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MasterTolerances {
    /// It ends at `θᵀz < gap` with dual residuals below it: far below `Δ = 2(a − 1) · 1e-4`.
    pub gap: f64,
    /// And primal residuals below this.
    pub primal_residual: f64,
    /// Iterations at most; typical are 15 to 30.
    pub iterations: usize,
    /// Each Newton step aims at this share of the present complementarity.
    pub centring: f64,
    /// And goes this share of the way to the boundary.
    pub boundary_share: f64,
    /// Nodes in one task. Fixed, so that sums do not depend on the number of threads.
    pub nodes_per_task: usize,
    /// Least initial slack of the leakage budget.
    pub min_slack: f64,
}

impl Default for MasterTolerances {
    fn default() -> Self {
        MasterTolerances {
            gap: 1e-8,
            primal_residual: 1e-13,
            iterations: 80,
            centring: 0.1,
            boundary_share: 0.995,
            nodes_per_task: 128,
            min_slack: 0.1,
        }
    }
}

/// Newton's method for the KKT conditions of the rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct KktTolerances {
    /// Steps at most; five to ten are enough near an optimum.
    pub steps: usize,
    /// A step reduces no entry by more than this share.
    pub max_reduction: f64,
    /// Converged if no entry changes by a larger share.
    pub relative_change: f64,
    /// Rows of a smaller share of the protocol are dropped.
    pub negligible_share: f64,
    /// Nodes in one task. Fixed, so that sums do not depend on the number of threads.
    pub nodes_per_task: usize,
}

impl Default for KktTolerances {
    fn default() -> Self {
        KktTolerances {
            steps: 30,
            max_reduction: 0.8,
            relative_change: 1e-8,
            negligible_share: 1e-5,
            nodes_per_task: 128,
        }
    }
}

/// Branch and bound over the directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PricingTolerances {
    /// Directions priced at most in column generation, and at least for a certificate that is interrupted.
    pub generation_directions: usize,
    /// Directions priced at most for a certificate.
    pub certificate_directions: usize,
    /// So many directions take a moment: up to here the bound is pressed to `GapLevels::generation`.
    pub quick: usize,
    /// The bound is not pressed below so many times the largest reduced cost that was seen.
    pub bound_ratio: f64,
    /// Directions that are kept as starts of local searches.
    pub kept: usize,
    /// Cells that are halved together.
    pub batch: usize,
    /// The second-order bound is tried if its expected loss is within `reach` times the room. `reach` adapts by this factor, between these
    /// limits, so that half of the attempts succeed.
    pub reach_ratio: f64,
    pub min_reach: f64,
    pub max_reach: f64,
    /// And if it saves cells whose linear bounds take as long: one of those takes as long as so many nodes of a second-order expansion.
    pub nodes_per_cell: f64,
    /// Bisections for the best convex combination of two tangents: one part in four thousand.
    pub tangent_bisections: usize,
    /// Frank–Wolfe steps for the largest value of a quadratic function on a simplex.
    pub quadratic_steps: usize,
    /// Nodes times directions that justify a task of their own.
    pub work_per_task: usize,
}

impl Default for PricingTolerances {
    fn default() -> Self {
        PricingTolerances {
            generation_directions: 400,
            certificate_directions: 400_000,
            quick: 4_000,
            bound_ratio: 1.1,
            kept: 256,
            batch: 256,
            reach_ratio: 1.2,
            min_reach: 1.0 / 16.0,
            max_reach: 16.0,
            nodes_per_cell: 200.0,
            tangent_bisections: 12,
            quadratic_steps: 100,
            work_per_task: 16_384,
        }
    }
}

/// Local maximisation of the reduced cost by coordinate steps in `√height`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LocalSearch {
    /// Starts besides the columns of the solution.
    pub starts: usize,
    /// Starts are at least so far apart, as [`Simplification`] measures distances.
    pub start_distance: f64,
    /// First and last step, and the factor between steps.
    pub first_step: f64,
    pub last_step: f64,
    pub step_ratio: f64,
    /// A step must gain this share of the least reduced cost that enters.
    pub min_gain_share: f64,
    /// Directions that are closer are the same.
    pub same_distance: f64,
}

impl Default for LocalSearch {
    fn default() -> Self {
        LocalSearch {
            starts: 6,
            start_distance: 0.05,
            first_step: 0.1,
            last_step: 1e-5,
            step_ratio: 0.4,
            min_gain_share: 0.1,
            same_distance: 1e-10,
        }
    }
}

/// The best partial disclosure protocol and its sensitivities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DisclosureTolerances {
    /// The odds of a value that nobody discloses, as a multiple of the odds of erasure: infinite for all purposes.
    pub undisclosed_odds: f64,
    /// How sensitivities are integrated for a certificate. Largest error seen at a step of 0.4, parameters that add up to `1e5`: `1e-9`.
    pub exact: Quadrature,
    /// How they are integrated for a control variate: sampling errors are larger.
    pub control_variate: Quadrature,
    /// An expansion takes as long as on `nodes_per_expansion / step²` nodes of a cubature.
    pub nodes_per_expansion: f64,
    /// A Newton step changes no `ln w_x` by more.
    pub max_ln_step: f64,
    /// Newton steps at most.
    pub steps: usize,
    /// Converged where a step changes `ln w_x` by less, …
    pub ln_change: f64,
    /// … or where the derivative in `ln w_x` is smaller, as for a value that nearly everybody discloses.
    pub flat_derivative: f64,
    /// The least modulus of an eigenvalue of the Hessian in a Newton step.
    pub min_curvature: f64,
    /// A step may lower the Lagrangian by this share: rounding.
    pub value_rounding: f64,
    /// Halvings of a step at most.
    pub halvings: u32,
    /// The leakage is within `budget_error` of `(1 − budget_error) B`, relatively.
    pub budget_error: f64,
    /// Multipliers `ν` that are tried at most; typical are ten.
    pub multipliers: usize,
    /// Secant steps for `ln ν` stay this share of the bracket away from its ends.
    pub bracket_margin: f64,
}

/// A trapezoidal rule in `ln s` and `ln t`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Quadrature {
    pub step: f64,
    /// The stated relative error.
    pub relative_error: f64,
}

impl Default for DisclosureTolerances {
    fn default() -> Self {
        DisclosureTolerances {
            undisclosed_odds: 1e11,
            exact: Quadrature { step: 1.0 / 3.0, relative_error: 1e-9 },
            control_variate: Quadrature { step: 0.5, relative_error: 1e-6 },
            nodes_per_expansion: 2_000.0,
            max_ln_step: 2.0,
            steps: 200,
            ln_change: 1e-11,
            flat_derivative: 1e-13,
            min_curvature: 1e-12,
            value_rounding: 1e-12,
            halvings: 30,
            budget_error: 5e-10,
            multipliers: 100,
            bracket_margin: 0.05,
        }
    }
}

/// From real numbers to the doubles of a protocol.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rounding {
    /// The budget is `(1 − L) H(X|P) (1 − budget_margin)`: the evaluation of leakage is off by less.
    pub budget_margin: f64,
    /// Share of the constant protocol in a designed matrix, divided by `min(ε, 1)`: some units in the last place.
    pub constant_share: f64,
    /// If the level is still too large: shares `2^i` from the first exponent, a few units in the last place, in steps of two up to the last.
    pub first_share_exponent: i32,
    pub last_share_exponent: i32,
    /// A column is a vertex of the cone if its squared distance is below this times `(1 − e^{−ε})²`.
    pub vertex_distance: f64,
    /// The disclosed share of an erasure becomes `1 − L` if it differs by less.
    pub erasure_share: f64,
}

impl Default for Rounding {
    fn default() -> Self {
        Rounding {
            budget_margin: 1e-10,
            constant_share: 1e-14,
            first_share_exponent: -48,
            last_share_exponent: -20,
            vertex_distance: 1e-16,
            erasure_share: 1e-7,
        }
    }
}

/// Subset selections for many inputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ManyInputsTolerances {
    /// The most inputs.
    pub max_inputs: usize,
    /// Relative error of the eigenvalues of the information.
    pub eigenvalues: f64,
    /// Vectors of its low-rank part count as linearly dependent within this.
    pub dependence: f64,
    /// Nodes times inputs, and the fewest nodes: enough for a Student error.
    pub nodes_times_inputs: usize,
    pub min_nodes: usize,
    /// The error of a reduced cost is so many standard errors: with 23 degrees of freedom exceeded with probability below `1e-3`.
    pub standard_errors: f64,
    /// A size enters if its reduced cost exceeds this share of `Δ`.
    pub entering_share: f64,
    /// Rounds in which sizes enter the mixture.
    pub rounds: usize,
    /// Initial weight of a size that enters.
    pub entering_weight: f64,
    /// Multiplicative steps `θ_k ← θ_k (1 + ρ_k/(a − 1))^exponent` after a size entered.
    pub multiplicative_steps: usize,
    pub exponent: i32,
    /// Smaller weights are dropped.
    pub negligible_weight: f64,
    /// Nodes that decide which sizes are priced.
    pub pilot_nodes: usize,
    /// Sizes are first priced in this ratio; sizes between two of them are priced if their bound exceeds `bound_share` of the entering level.
    pub size_ratio: f64,
    pub bound_share: f64,
}

impl Default for ManyInputsTolerances {
    fn default() -> Self {
        ManyInputsTolerances {
            max_inputs: 10_000,
            eigenvalues: 1e-9,
            dependence: 1e-11,
            nodes_times_inputs: 1 << 16,
            min_nodes: 24,
            standard_errors: 4.0,
            entering_share: 0.25,
            rounds: 6,
            entering_weight: 0.2,
            multiplicative_steps: 30,
            exponent: 4,
            negligible_weight: 1e-4,
            pilot_nodes: 4,
            size_ratio: 1.08,
            bound_share: 0.2,
        }
    }
}

/// The simplex method for a single report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OneUserTolerances {
    /// Steps at most; typical are a few times `a`.
    pub steps: usize,
    /// A reduced cost below this share of the largest value is rounding.
    pub reduced_cost: f64,
    /// A shorter step counts as degenerate.
    pub degenerate_step: f64,
    /// A smaller coefficient does not limit a step.
    pub min_pivot: f64,
    /// Smaller weights are zero.
    pub negligible_weight: f64,
}

impl Default for OneUserTolerances {
    fn default() -> Self {
        OneUserTolerances {
            steps: 5_000,
            reduced_cost: 1e-12,
            degenerate_step: 1e-14,
            min_pivot: 1e-11,
            negligible_weight: 1e-12,
        }
    }
}
