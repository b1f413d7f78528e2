package io.jccl.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.training.listener.EpochTrainingListener;
import ai.djl.training.listener.EvaluatorTrainingListener;
import ai.djl.training.listener.TrainingListener;
import io.jccl.Communicator;
import io.jccl.UniqueId;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of {@link DataParallel} that need no DJL engine. */
class DataParallelTest {

    private Communicator comm;

    @BeforeEach
    void initialize() {
        comm = Communicator.init(UniqueId.create(), 0, 1);
    }

    @AfterEach
    void close() {
        comm.close();
    }

    @Test
    void evaluatorsOfDjlAreReplacedAndOtherListenersKept() {
        DataParallel parallel = DataParallel.over(comm);
        TrainingListener epochs = new EpochTrainingListener();

        TrainingListener[] listeners = parallel.listeners(epochs, new EvaluatorTrainingListener());

        assertThat(listeners).hasSize(3);
        assertThat(listeners[0]).isSameAs(parallel.listener());
        assertThat(listeners[1]).isSameAs(epochs);
        assertThat(listeners[2])
                .isInstanceOf(EvaluatorTrainingListener.class)
                .isInstanceOf(DistributedEvaluatorListener.class);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1016, 1025, Integer.MAX_VALUE})
    void bucketSizeThatIsOutOfRangeOrNoMultipleOf8IsRefused(int bytes) {
        assertThatThrownBy(() -> DataParallel.builder(comm).bucketBytes(bytes))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("bucketBytes=" + bytes + ": expected a multiple of 8 from 1024 to 1073741824");
    }

    @Test
    void missingArgumentsAreNamed() {
        assertThatThrownBy(() -> DataParallel.over(null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("comm=null: expected a Communicator");
        assertThatThrownBy(() -> DataParallel.builder(comm).compression(null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("compression=null: expected a WireFormat");
        assertThatThrownBy(() -> DataParallel.over(comm).broadcast(null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("trainer=null: expected a Trainer");
        assertThatThrownBy(() -> DataParallel.over(comm).listeners((TrainingListener) null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("others[]=null: expected a TrainingListener");
        assertThatThrownBy(() -> DataParallel.over(comm).sampler(0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("batchSize=0: expected 1 or more samples for each rank");
    }
}
