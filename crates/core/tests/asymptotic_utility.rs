//! Asymptotic utilities against values of 20 digits or more from ball arithmetic and high-order quadrature.

use std::f64::consts::{E, PI};

use sottovoce::fisher::expectation::{MeanOptions, expected_ln_det};
use sottovoce::fisher::{
    DenseMatrix, Erasure, FisherInformation, RandomizedResponse, SubsetSelection, UnaryEncoding,
};
use sottovoce::metric::{Settings, truth_utility};
use sottovoce::protocol::BitNoise;
use sottovoce::{Evaluation, Method, Prior};

#[derive(Clone, Copy, Debug)]
enum Protocol {
    Identity,
    Grr(f64),
    Rappor(f64),
    Optimised(f64),
    Hashing(usize, f64),
    Unary(f64, f64),
    Matrix(&'static [f64]),
}

use Protocol::*;

impl Protocol {
    fn fisher(self, inputs: usize) -> Box<dyn FisherInformation> {
        match self {
            Identity => Box::new(sottovoce::fisher::Identity { inputs }),
            Grr(epsilon) => Box::new(RandomizedResponse { inputs, epsilon }),
            Rappor(epsilon) => Box::new(UnaryEncoding::new(inputs, &BitNoise::rappor(epsilon), 1e-13)),
            Optimised(epsilon) => Box::new(UnaryEncoding::new(inputs, &BitNoise::oue(epsilon), 1e-13)),
            Hashing(range, epsilon) => {
                Box::new(UnaryEncoding::new(inputs, &BitNoise::local_hash(range, epsilon), 1e-13))
            }
            Unary(kappa, lambda) => {
                Box::new(UnaryEncoding::new(inputs, &BitNoise::new(kappa, lambda), 1e-13))
            }
            Matrix(rows) => Box::new(DenseMatrix::new(inputs, rows.to_vec())),
        }
    }
}

#[rustfmt::skip]
const GOLDEN: &[(Protocol, &[f64], f64)] = &[
    (Identity, &[0.5, 0.5], -0.032644172084782125),
    (Identity, &[0.3, 1.2, 2.5], 0.2952515876559471),
    (Identity, &[0.05, 0.05, 0.05], 8.68870020178802),
    (Grr(1.0), &[0.5, 0.5], -1.4394732858320773),
    (Grr(0.1), &[1.0, 1.0], -3.7219401887262684),
    (Grr(2.0), &[0.3, 1.2], -0.7509290406882047),
    (Grr(1.5), &[0.05, 0.05], -0.9469131762944544),
    (Grr(0.5), &[0.5, 0.5, 0.5], -2.3130437651572477),
    (Grr(2.0), &[0.3, 1.2, 2.5], -0.8325975977042182),
    (Grr(1.0), &[0.05, 0.05, 0.05], -1.5264075430769843),
    (Grr(1.0), &[100.0, 50.0, 25.0], -1.5907271110814705),
    (Grr(6.0), &[1.0, 1.0, 1.0], -0.31818498437721465),
    (Grr(1.0), &[0.5, 0.5, 0.5, 0.5], -1.6701304353590567),
    (Grr(3.0), &[1.0, 1.0, 1.0, 1.0, 1.0], -0.5129738285327997),
    (Rappor(1.0), &[0.5, 0.5], -1.7569194262530727),
    (Rappor(1.0), &[0.5, 0.5, 0.5], -1.81374945313378),
    (Optimised(1.0), &[0.5, 0.5, 0.5], -1.8277106254484998),
    (Hashing(2, 1.0), &[0.5, 0.5, 0.5], -1.8615176638384623),
    (Unary(0.7, 0.2), &[0.3, 1.2, 2.5], -0.9556287304160374),
    (Unary(0.9, 0.4), &[5.0, 1.0], -0.8634934719301558),
    (Rappor(1.0), &[0.5, 0.5, 0.5, 0.5], -1.8525998636501173),
    (Optimised(2.0), &[0.05, 0.05, 0.05], -0.969598581528879),
    (Hashing(2, 1.0), &[0.5, 0.5, 0.5], -1.8615176638384623),
    (Hashing(2, 2.0), &[0.3, 1.2], -1.0975026309681772),
    (Hashing(3, 2.0), &[0.5, 0.5, 0.5], -1.1015263631565693),
    (Matrix(&[0.0, 1.0, 1.0, 0.0]), &[0.3, 1.2], 0.5133335001700644),
    (Matrix(&[1.0, 0.0, 0.0, 0.0, 0.6666666666666666, 0.3333333333333333, 0.0, 0.3333333333333333, 0.6666666666666666]), &[1.0, 1.0, 1.0], -0.9870857137646181),
    (Matrix(&[0.5, 0.0, 0.0, 0.0, 0.3333333333333333, 0.16666666666666666, 0.0, 0.16666666666666666, 0.3333333333333333, 0.3333333333333333, 0.16666666666666666, 0.0, 0.16666666666666666, 0.3333333333333333, 0.0, 0.0, 0.0, 0.5]), &[1.0, 1.0, 1.0], -0.6912274508978936),
    (Matrix(&[0.5, 0.1, 0.1, 0.2, 0.7, 0.15, 0.3, 0.2, 0.75]), &[0.3, 1.2, 2.5], -1.1982307561786856),
    (Matrix(&[0.4, 0.1, 0.125, 0.3, 0.5, 0.125, 0.2, 0.2, 0.1875, 0.1, 0.2, 0.5625]), &[5.0, 1.0, 1.0], -1.5496707094577917),
    (Matrix(&[0.05, 0.25, 0.1, 0.25, 0.15, 0.1, 0.2, 0.35, 0.5, 0.05]), &[0.3, 1.2], -0.9637451664966092),
    (Matrix(&[0.75, 0.0, 0.4, 0.25, 0.8, 0.0, 0.0, 0.2, 0.6]), &[0.5, 0.5, 0.5], -0.8713651379450937),
    (Matrix(&[0.5, 0.125, 0.1111111111111111, 0.0, 0.0, 0.0, 0.25, 0.625, 0.1111111111111111, 0.25, 0.25, 0.7777777777777778]), &[0.3, 1.2, 2.5], -1.2546476771454311),
    (Matrix(&[0.75, 0.3333333333333333, 0.0, 0.25, 0.6666666666666666, 0.0, 0.0, 0.0, 1.0]), &[0.3, 1.2, 2.5], -0.7430087962371554),
    (Matrix(&[0.45505423392341127, 0.10153632409155179, 0.27600434470659363, 0.16740509727844333, 0.16740509727844333, 0.27600434470659363, 0.10153632409155179, 0.45505423392341127]), &[0.5, 0.5], -1.3055206356597024),
    (Matrix(&[0.5388131981130624, 0.33851676818125337, 0.2903170925292138, 0.2404632283815194, 0.3254374713828929, 0.39684439827480344, 0.2207235735054183, 0.3360457604358538, 0.3128385091959829]), &[1.0, 1.0, 1.0], -2.8771058443195976),
    (Grr(0.05), &[0.5, 0.5, 0.5], -4.681081500322155),
    (Rappor(0.05), &[0.5, 0.5, 0.5], -4.8330972306114255),
    (Optimised(0.05), &[0.5, 0.5, 0.5], -4.833123304042858),
    (Hashing(2, 0.05), &[0.5, 0.5, 0.5], -4.83322740905553),
    (Grr(0.2), &[0.5, 0.5, 0.5], -3.2711826388002363),
    (Rappor(0.2), &[0.5, 0.5, 0.5], -3.445793283868834),
    (Optimised(0.2), &[0.5, 0.5, 0.5], -3.44621796229115),
    (Hashing(2, 0.2), &[0.5, 0.5, 0.5], -3.4478689972937597),
    (Grr(0.4), &[0.5, 0.5, 0.5], -2.5493142103511763),
    (Rappor(0.4), &[0.5, 0.5, 0.5], -2.749485655784587),
    (Optimised(0.4), &[0.5, 0.5, 0.5], -2.7512746520004994),
    (Hashing(2, 0.4), &[0.5, 0.5, 0.5], -2.757698660933414),
    (Grr(0.8), &[0.5, 0.5, 0.5], -1.8088037045327345),
    (Rappor(0.8), &[0.5, 0.5, 0.5], -2.0446906064285297),
    (Optimised(0.8), &[0.5, 0.5, 0.5], -2.052998293517767),
    (Hashing(2, 0.8), &[0.5, 0.5, 0.5], -2.0761928371273592),
    (Grr(1.2), &[0.5, 0.5, 0.5], -1.3699770196855845),
    (Rappor(1.2), &[0.5, 0.5, 0.5], -1.6228530724811745),
    (Optimised(1.2), &[0.5, 0.5, 0.5], -1.6442394343944085),
    (Hashing(2, 1.2), &[0.5, 0.5, 0.5], -1.6892643799616684),
    (Grr(1.6), &[0.5, 0.5, 0.5], -1.0627445654061067),
    (Rappor(1.6), &[0.5, 0.5, 0.5], -1.3173156422562564),
    (Optimised(1.6), &[0.5, 0.5, 0.5], -1.358602786403667),
    (Hashing(2, 1.6), &[0.5, 0.5, 0.5], -1.4259638839563729),
    (Grr(2.4), &[0.5, 0.5, 0.5], -0.6549988441771001),
    (Rappor(2.4), &[0.5, 0.5, 0.5], -0.8827411628885243),
    (Optimised(2.4), &[0.5, 0.5, 0.5], -0.9775760838553268),
    (Hashing(2, 2.4), &[0.5, 0.5, 0.5], -1.082534308606472),
    (Grr(3.2), &[0.5, 0.5, 0.5], -0.40299643125258405),
    (Rappor(3.2), &[0.5, 0.5, 0.5], -0.5859272317859371),
    (Optimised(3.2), &[0.5, 0.5, 0.5], -0.7387247017191708),
    (Hashing(2, 3.2), &[0.5, 0.5, 0.5], -0.8690435579738996),
    (Grr(4.5), &[0.5, 0.5, 0.5], -0.16854745849732167),
    (Rappor(4.5), &[0.5, 0.5, 0.5], -0.28104852843097505),
    (Optimised(4.5), &[0.5, 0.5, 0.5], -0.5122385962245334),
    (Hashing(2, 4.5), &[0.5, 0.5, 0.5], -0.6638549070501302),
    (Grr(6.0), &[0.5, 0.5, 0.5], -0.036386067752165414),
    (Rappor(6.0), &[0.5, 0.5, 0.5], -0.09436214055434237),
    (Optimised(6.0), &[0.5, 0.5, 0.5], -0.3823312902923511),
    (Hashing(2, 6.0), &[0.5, 0.5, 0.5], -0.5426067556397338),
    (Grr(8.0), &[0.5, 0.5, 0.5], 0.037899131587646205),
    (Rappor(8.0), &[0.5, 0.5, 0.5], 0.01557034706296817),
    (Optimised(8.0), &[0.5, 0.5, 0.5], -0.3085903495022548),
    (Hashing(2, 8.0), &[0.5, 0.5, 0.5], -0.47170066563669377),
    (Grr(12.0), &[0.5, 0.5, 0.5], 0.07522102666938514),
    (Rappor(12.0), &[0.5, 0.5, 0.5], 0.07213275102253053),
    (Optimised(12.0), &[0.5, 0.5, 0.5], -0.271351027419152),
    (Hashing(2, 12.0), &[0.5, 0.5, 0.5], -0.43503700758415786),
    (Grr(0.001), &[0.5, 0.5, 0.5], -8.601180253803747),
    (Grr(20.0), &[0.5, 0.5, 0.5], 0.08095449573085553),
    (Grr(1.0), &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0], -2.051337744046238),
    (Grr(2.0), &[0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5], -1.5956105501564193),
];

#[derive(Clone, Copy, Debug)]
enum Square {
    Grr(f64),
    Cycle,
    Triangle,
}

impl Square {
    fn fisher(self, inputs: usize) -> DenseMatrix {
        match self {
            Square::Grr(epsilon) => {
                let beta = epsilon.exp_m1();
                let truth = |i: usize| f64::from(u8::from(i.is_multiple_of(inputs + 1)));
                let entries = |base: f64| {
                    (0..inputs * inputs).map(|i| (base + beta * truth(i)) / (inputs as f64 + beta)).collect()
                };
                DenseMatrix::with_deviations(inputs, entries(1.0), entries(0.0))
            }
            Square::Cycle => DenseMatrix::new(3, vec![0.75, 0.0, 0.5, 0.25, 0.75, 0.0, 0.0, 0.25, 0.5]),
            Square::Triangle => DenseMatrix::new(3, vec![1.0, 0.5, 0.125, 0.0, 0.5, 0.125, 0.0, 0.0, 0.75]),
        }
    }
}

/// Square matrices, whose utilities are sums of one-dimensional integrals, in 34 digits; treated here as any matrix.
#[rustfmt::skip]
const EXTREMES: &[(Square, &[f64], f64)] = &[
    (Square::Grr(1e-06), &[0.01, 0.01], -15.234449091168909),
    (Square::Grr(1.0), &[0.01, 0.01], -1.3800639872763043),
    (Square::Grr(8.0), &[0.01, 0.01], 2.4259269737200486),
    (Square::Grr(50.0), &[0.01, 0.01], 18.26071759532885),
    (Square::Grr(1e-06), &[0.05, 2.0], -15.234449091168914),
    (Square::Grr(1.0), &[0.05, 2.0], -1.3856596082961992),
    (Square::Grr(8.0), &[0.05, 2.0], 2.00551745348169),
    (Square::Grr(50.0), &[0.05, 2.0], 8.207680650029353),
    (Square::Grr(1e-06), &[10000.0, 10000.0], -15.23444909116903),
    (Square::Grr(1.0), &[10000.0, 10000.0], -1.4977228469247887),
    (Square::Grr(8.0), &[10000.0, 10000.0], -0.7264373108278165),
    (Square::Grr(50.0), &[10000.0, 10000.0], -0.7257663520197274),
    (Square::Grr(1e-06), &[100.0, 0.5], -15.234449091168909),
    (Square::Grr(1.0), &[100.0, 0.5], -1.3802553350242468),
    (Square::Grr(8.0), &[100.0, 0.5], 1.5735902166001097),
    (Square::Grr(50.0), &[100.0, 0.5], 1.8679099057729907),
    (Square::Grr(1e-06), &[0.01, 0.01, 0.01], -15.509101996669296),
    (Square::Grr(1.0), &[0.01, 0.01, 0.01], -1.517905035170128),
    (Square::Grr(8.0), &[0.01, 0.01, 0.01], 2.4262571130938952),
    (Square::Grr(50.0), &[0.01, 0.01, 0.01], 18.263746064558944),
    (Square::Cycle, &[0.01, 0.01, 0.01], 11.102033736770375),
    (Square::Triangle, &[0.01, 0.01, 0.01], 19.581591588354406),
    (Square::Grr(1e-06), &[0.01, 0.02, 10.0], -15.509101996669294),
    (Square::Grr(1.0), &[0.01, 0.02, 10.0], -1.5161855094430157),
    (Square::Grr(8.0), &[0.01, 0.02, 10.0], 2.466638680829882),
    (Square::Grr(50.0), &[0.01, 0.02, 10.0], 17.017668809045322),
    (Square::Cycle, &[0.01, 0.02, 10.0], 7.538766625244695),
    (Square::Triangle, &[0.01, 0.02, 10.0], -0.8007299606561274),
    (Square::Grr(1e-06), &[0.05, 0.05, 0.05], -15.509101996669305),
    (Square::Grr(1.0), &[0.05, 0.05, 0.05], -1.5264075430769843),
    (Square::Grr(8.0), &[0.05, 0.05, 0.05], 1.9072375070291143),
    (Square::Grr(50.0), &[0.05, 0.05, 0.05], 7.858326867670106),
    (Square::Cycle, &[0.05, 0.05, 0.05], 1.138083847400112),
    (Square::Triangle, &[0.05, 0.05, 0.05], 2.942631713221839),
    (Square::Grr(1e-06), &[1.0, 1.0, 1.0], -15.509101996669356),
    (Square::Grr(1.0), &[1.0, 1.0, 1.0], -1.5809800527306117),
    (Square::Grr(8.0), &[1.0, 1.0, 1.0], -0.29821762385802486),
    (Square::Grr(50.0), &[1.0, 1.0, 1.0], -0.2939385332046727),
    (Square::Cycle, &[1.0, 1.0, 1.0], -1.0717319920192185),
    (Square::Triangle, &[1.0, 1.0, 1.0], -0.8609641802890075),
    (Square::Grr(1e-06), &[100.0, 100.0, 100.0], -15.509101996669377),
    (Square::Grr(1.0), &[100.0, 100.0, 100.0], -1.604768815853688),
    (Square::Grr(8.0), &[100.0, 100.0, 100.0], -0.5934850571221616),
    (Square::Grr(50.0), &[100.0, 100.0, 100.0], -0.5924737612097604),
    (Square::Cycle, &[100.0, 100.0, 100.0], -1.1595444234916492),
    (Square::Triangle, &[100.0, 100.0, 100.0], -1.0158990398016883),
    (Square::Grr(1e-06), &[10000.0, 10000.0, 10000.0], -15.509101996669377),
    (Square::Grr(1.0), &[10000.0, 10000.0, 10000.0], -1.6050958605512096),
    (Square::Grr(8.0), &[10000.0, 10000.0, 10000.0], -0.5959605856075748),
    (Square::Grr(50.0), &[10000.0, 10000.0, 10000.0], -0.594954316148035),
    (Square::Cycle, &[10000.0, 10000.0, 10000.0], -1.160411334380301),
    (Square::Triangle, &[10000.0, 10000.0, 10000.0], -1.017334980474015),
    (Square::Grr(1e-06), &[10000.0, 0.01, 1.0], -15.509101996669294),
    (Square::Grr(1.0), &[10000.0, 0.01, 1.0], -1.515502271449601),
    (Square::Grr(8.0), &[10000.0, 0.01, 1.0], 2.5201700041907915),
    (Square::Grr(50.0), &[10000.0, 0.01, 1.0], 11.746979490303394),
    (Square::Cycle, &[10000.0, 0.01, 1.0], 1.035561554554365),
    (Square::Triangle, &[10000.0, 0.01, 1.0], 3.5673803427183746),
];

/// `U_as` from the mean of the log-determinant.
fn utility(fisher: &dyn FisherInformation, alpha: &[f64], effort: &MeanOptions) -> Evaluation {
    let mean = expected_ln_det(fisher, alpha, effort).times(0.5 / (alpha.len() as f64 - 1.0));
    mean.plus(Evaluation::closed_form(-0.5 * (2.0 * PI * E).ln(), 1))
}

#[test]
fn golden_values() {
    for &(protocol, alpha, value) in GOLDEN {
        let found = utility(&*protocol.fisher(alpha.len()), alpha, &MeanOptions::default());
        check(&format!("{protocol:?}"), alpha, value, found);
    }
}

#[test]
fn extreme_priors_and_budgets() {
    for &(square, alpha, value) in EXTREMES {
        let found = utility(&square.fisher(alpha.len()), alpha, &MeanOptions::default());
        check(&format!("{square:?}"), alpha, value, found);
    }
}

/// Within the stated error (four standard errors), and within `1e-11` for two or three inputs.
fn check(name: &str, alpha: &[f64], value: f64, found: Evaluation) {
    let difference = (found.value - value).abs();
    println!("{difference:.1e} {:.1e} {} {name} {alpha:?}", found.error, found.method);
    let stated = if found.method == Method::MonteCarlo { 4.0 } else { 1.0 } * found.error;
    assert!(difference <= stated, "{name} {alpha:?}: {found:?}, not {value}");
    assert!(alpha.len() > 3 || difference < 1e-11, "{name} {alpha:?}: {found:?}, not {value}");
}

fn fidelity(fisher: &dyn FisherInformation, alpha: &[f64]) -> f64 {
    let utility = utility(fisher, alpha, &MeanOptions { tolerance: 1e-5, ..MeanOptions::default() });
    let prior = Prior::dirichlet(alpha.to_vec()).unwrap();
    let truth = truth_utility(&prior, &Settings::default()).unwrap();
    (2.0 * (utility.value - truth.value)).exp()
}

#[test]
fn fidelities_at_six_inputs() {
    let alpha = [0.5; 6];
    let pairs = fidelity(&SubsetSelection::new(6, 2, 1.0, 1e-12), &alpha);
    let single = fidelity(&RandomizedResponse { inputs: 6, epsilon: 1.0 }, &alpha);
    let optimised = fidelity(&UnaryEncoding::new(6, &BitNoise::oue(1.0), 1e-12), &alpha);
    println!("{pairs} {single} {optimised}");
    assert!(
        (pairs - 0.0152).abs() < 1e-4 && (single - 0.0138).abs() < 1e-4 && (optimised - 0.0121).abs() < 1e-4
    );
}

#[test]
fn closed_forms_meet_the_capacity() {
    for alpha in [vec![0.5; 2], vec![0.3, 1.2, 2.5], vec![0.01; 3]] {
        let inputs = alpha.len();
        assert!((fidelity(&sottovoce::fisher::Identity { inputs }, &alpha) - 1.0).abs() < 1e-11);
        assert!((fidelity(&Erasure { inputs, kept: 0.3 }, &alpha) - 0.3).abs() < 1e-11);
    }
}

#[test]
fn relabelling_inputs_changes_nothing() {
    // More outputs than inputs, zeros, and corners of the simplex: no formula, and other sticks for each order.
    let rows = [0.5, 0.0, 0.25, 0.0, 0.5, 0.25, 0.5, 0.25, 0.0, 0.0, 0.25, 0.5];
    let alpha = [0.01, 0.05, 0.3];
    let relabelled = |order: [usize; 3]| {
        let matrix = rows.chunks(3).flat_map(|row| order.map(|x| row[x])).collect();
        utility(&DenseMatrix::new(3, matrix), &order.map(|x| alpha[x]), &MeanOptions::default())
    };
    let first = relabelled([0, 1, 2]);
    for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let other = relabelled(order);
        println!("{first:?} {other:?}");
        assert!((first.value - other.value).abs() < 1e-10);
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let protocol = UnaryEncoding::new(12, &BitNoise::oue(1.0), 1e-9);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| utility(&protocol, &[0.3; 12], &MeanOptions::default()))
    };
    assert_eq!(run(1), run(3));
}
