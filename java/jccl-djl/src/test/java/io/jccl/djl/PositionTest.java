package io.jccl.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.djl.Position.Phase;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests of the step from which all ranks continue after a failure. */
class PositionTest {

    private static Position at(long steps, Phase phase) {
        return new Position(steps, phase, 0);
    }

    @Test
    void noRankTakesTheStepIfOneLacksItsGradients() {
        assertThat(Position.target(List.of(at(4, Phase.AVERAGING), at(4, Phase.AVERAGED), at(4, Phase.IDLE))))
                .isEqualTo(4);
        assertThat(Position.target(List.of(at(4, Phase.AVERAGED), at(4, Phase.AVERAGING))))
                .isEqualTo(4);
    }

    @Test
    void allRanksTakeTheStepIfAllHaveItsGradients() {
        assertThat(Position.target(List.of(at(4, Phase.AVERAGED), at(4, Phase.AVERAGED))))
                .isEqualTo(5);
    }

    @Test
    void ranksThatAreBehindTakeTheStepThatAnotherRankHasTaken() {
        assertThat(Position.target(List.of(at(4, Phase.AVERAGED), at(5, Phase.IDLE))))
                .isEqualTo(5);
        assertThat(Position.target(List.of(at(5, Phase.AVERAGING), at(4, Phase.AVERAGED))))
                .isEqualTo(5);
    }

    @Test
    void ranksOfDifferentTrainingsAreRefused() {
        assertThatThrownBy(() -> Position.target(List.of(at(5, Phase.IDLE), at(4, Phase.AVERAGING))))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("rank=1 steps=4 phase=AVERAGING: expected 5 steps");
        assertThatThrownBy(() -> Position.target(List.of(at(3, Phase.AVERAGED), at(5, Phase.AVERAGED))))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("rank=0 steps=3");
    }

    @Test
    void anEpochThatEndedOnOneRankCountsAsEnded() {
        assertThat(Position.epoch(List.of(new Position(8, Phase.IDLE, 2), new Position(7, Phase.AVERAGED, 1))))
                .isEqualTo(2);
    }
}
