package io.jccl.tuning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

class LeastSquaresTest {

    @Test
    void equations_that_hold_are_solved() {
        LeastSquares equations = new LeastSquares(3);
        equations.add(new double[] {1, 2, 0}, 5);
        equations.add(new double[] {0, 1, 1}, 5);
        equations.add(new double[] {3, 0, 1}, 6);
        equations.add(new double[] {1, 1, 1}, 6);
        assertThat(equations.solve()).containsExactly(new double[] {1, 2, 3}, within(1e-9));
    }

    @Test
    void no_unknown_is_negative_and_the_others_do_without_it() {
        LeastSquares equations = new LeastSquares(2);
        equations.add(new double[] {1, 1}, 1);
        equations.add(new double[] {1, 3}, 0);
        double[] solution = equations.solve();
        assertThat(solution[1]).isZero();
        assertThat(solution[0]).isCloseTo(0.5, within(1e-9));
    }

    @Test
    void an_unknown_that_nothing_is_said_about_is_zero() {
        LeastSquares equations = new LeastSquares(2);
        equations.add(new double[] {2, 0}, 3);
        assertThat(equations.solve()).containsExactly(new double[] {1.5, 0}, within(1e-9));
    }
}
