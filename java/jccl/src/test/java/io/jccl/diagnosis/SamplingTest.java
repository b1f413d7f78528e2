package io.jccl.diagnosis;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.status.Absentee;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests when a communicator is sampled again, and which operation the next sample asks about. */
class SamplingTest {

    private static final long MILLI = 1_000_000;

    /** Returns a sample in which rank 1 is late for an operation, and the others have waited for it. */
    private static CommunicatorSample late(long sequence, long nanos) {
        SimulatedRanks ranks = new SimulatedRanks(3, sequence);
        ranks.waits(0, sequence, 2, nanos).waits(2, sequence, 1, nanos).computes(1, sequence - 1);
        return ranks.sample();
    }

    @Test
    void aLateRankIsSampledUntilOthersHaveWaitedForLong() {
        CommunicatorSample sample = late(8, 100 * MILLI);
        assertThat(Sampling.needsMore(List.of(sample))).isTrue();
        assertThat(Sampling.needsMore(List.of(sample, sample))).isTrue();
        assertThat(Sampling.needsMore(List.of(sample, late(8, 3000 * MILLI)))).isFalse();
    }

    @Test
    void aRankThatIsLateAgainNeedsNoFurtherSample() {
        assertThat(Sampling.needsMore(List.of(late(8, 100 * MILLI), late(9, 100 * MILLI))))
                .isFalse();
    }

    @Test
    void shortWaitsNeedOneSample() {
        assertThat(Sampling.needsMore(List.of(late(8, MILLI)))).isFalse();
    }

    @Test
    void aProcessThatDoesNotAnswerNeedsOneSample() {
        CommunicatorSample sample =
                new SimulatedRanks(3, 8).absent(1, Absentee.Reason.ENDED).sample();
        assertThat(Sampling.needsMore(List.of(sample))).isFalse();
    }

    @Test
    void theNextSampleAsksAboutTheOperationThatOthersWaitIn() {
        assertThat(Sampling.question(List.of(late(8, 100 * MILLI)))).isEqualTo(8);
        assertThat(Sampling.question(List.of(late(8, MILLI)))).isZero();
    }

    @Test
    void theNextSampleAsksAboutTheFirstOperationThatRanksCalledDifferently() {
        CommunicatorSample sample =
                new SimulatedRanks(3, 8).differs(1, 7, 100, 100 * MILLI).sample();
        assertThat(Sampling.question(List.of(sample))).isEqualTo(7);
    }
}
