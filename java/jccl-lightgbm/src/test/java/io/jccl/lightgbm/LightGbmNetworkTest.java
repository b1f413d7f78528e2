package io.jccl.lightgbm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.microsoft.ml.lightgbm.lightgbmlib;
import io.jccl.AbortedException;
import io.jccl.Communicator;
import io.jccl.InterruptedCommunicationException;
import java.lang.ref.WeakReference;
import java.lang.reflect.Method;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;

/** Tests of the network between ranks that are threads of one process, and of its wrong use. */
final class LightGbmNetworkTest {

    private static final String PARAMETERS = TrainingRank.PARAMETERS + " tree_learner=data";

    @BeforeAll
    static void load() {
        LightGbmLibrary.load();
    }

    @Test
    void threadsOfOneProcessTrainTogether() throws Exception {
        List<String> trees = ThreadRanks.run(2, comm -> {
            try (LightGbmNetwork network = LightGbmNetwork.over(comm)) {
                return train(network, comm);
            }
        });
        assertThat(trees.get(0)).contains("Tree=2").isEqualTo(trees.get(1));
    }

    @Test
    void usageCountsOperationsAndTheirBytes() throws Exception {
        ThreadRanks.run(2, comm -> {
            try (LightGbmNetwork network = LightGbmNetwork.over(comm)) {
                assertThat(network.usage().operations()).isZero();
                train(network, comm);
                assertThat(network.usage().operations()).isGreaterThan(3 * 15); // three trees of 15 leaves
                assertThat(network.usage().bytes()).isGreaterThan(3 * 15 * 20 * 100 * 16); // histograms, 16 bytes a bin
                assertThat(network.usage().time()).isPositive();
            }
            return null;
        });
    }

    @Test
    void secondNetworkOfAThreadTrainsLikeTheFirst() throws Exception {
        List<Boolean> same = ThreadRanks.run(2, comm -> {
            String first;
            try (LightGbmNetwork network = LightGbmNetwork.over(comm)) {
                first = train(network, comm);
            }
            try (LightGbmNetwork network = LightGbmNetwork.over(comm)) {
                return train(network, comm).equals(first);
            }
        });
        assertThat(same).containsOnly(true);
    }

    @Test
    void closedNetworkIsGarbageCollected() throws Exception {
        List<WeakReference<LightGbmNetwork>> networks = ThreadRanks.run(2, comm -> {
            try (LightGbmNetwork network = LightGbmNetwork.over(comm)) {
                train(network, comm);
                return new WeakReference<>(network);
            }
        });
        for (WeakReference<LightGbmNetwork> network : networks) {
            for (int i = 0; i < 100 && network.get() != null; i++) {
                System.gc();
            }
            assertThat(network.get()).isNull();
        }
    }

    @Test
    void abortEndsTrainingWithItsException() throws Exception {
        List<Throwable> failures = ThreadRanks.run(2, comm -> {
            try (LightGbmNetwork network = LightGbmNetwork.over(comm);
                    Training training = training(network, comm)) {
                training.restart(network.parameters(PARAMETERS));
                Throwable thrown = catchThrowable(() -> {
                    training.update();
                    if (comm.rank() == 1) {
                        comm.abort();
                    }
                    training.update();
                });
                assertThat(lightgbmlib.LGBM_GetLastError()).startsWith("communication failed: ");
                assertThat(network.failure()).containsSame(thrown);
                // Every later call fails in the same way, and the network closes nevertheless.
                assertThat(catchThrowable(training::update)).isSameAs(thrown);
                return thrown;
            }
        });
        assertThat(failures).hasOnlyElementsOfType(AbortedException.class);
    }

    @Test
    void interruptEndsTrainingAndNamesTheRankToTheOthers() throws Exception {
        List<Throwable> failures = ThreadRanks.run(2, comm -> {
            try (LightGbmNetwork network = LightGbmNetwork.over(comm);
                    Training training = training(network, comm)) {
                Throwable thrown = catchThrowable(() -> {
                    training.restart(network.parameters(PARAMETERS));
                    if (comm.rank() == 1) {
                        Thread.currentThread().interrupt();
                    }
                    training.update();
                });
                assertThat(Thread.interrupted()).isEqualTo(comm.rank() == 1);
                return thrown;
            }
        });
        assertThat(failures.get(0)).isInstanceOf(AbortedException.class).hasMessageContaining("rank 1");
        assertThat(failures.get(1)).isInstanceOfAny(InterruptedCommunicationException.class, AbortedException.class);
    }

    @Test
    void errorsOfLightGbmAreNotReportedAsFailuresOfTheNetwork() throws Exception {
        ThreadRanks.run(2, comm -> {
            try (LightGbmNetwork network = LightGbmNetwork.over(comm)) {
                network.check(0);
                assertThatThrownBy(() -> network.check(lightgbmlib.LGBM_BoosterCreateFromModelfile(
                                "/no/such/file", lightgbmlib.new_intp(), lightgbmlib.new_voidpp())))
                        .isInstanceOf(LightGbmException.class)
                        .hasMessageContaining("/no/such/file");
                assertThat(network.failure()).isEmpty();
            }
            return null;
        });
    }

    @Test
    void communicatorOfOneRankIsRefused() throws Exception {
        ThreadRanks.run(1, comm -> {
            assertThatThrownBy(() -> LightGbmNetwork.over(comm))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("size=1: expected a communicator of two ranks or more; one rank trains with"
                            + " tree_learner=serial");
            return null;
        });
        assertThatThrownBy(() -> LightGbmNetwork.over(null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("comm=null: expected a communicator of two ranks or more");
    }

    @Test
    void closedCommunicatorIsRefused() throws Exception {
        ThreadRanks.run(2, comm -> {
            comm.close();
            assertThatThrownBy(() -> LightGbmNetwork.over(comm)).isInstanceOf(IllegalStateException.class);
            return null;
        });
    }

    @Test
    void secondOpenNetworkOfAThreadIsRefused() throws Exception {
        ThreadRanks.run(2, comm -> {
            try (LightGbmNetwork network = LightGbmNetwork.over(comm)) {
                assertThatThrownBy(() -> LightGbmNetwork.over(comm))
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageEndingWith("expected one without a LightGbmNetwork; close the other one first");
                return train(network, comm);
            }
        });
    }

    @Test
    @EnabledForJreRange(min = JRE.JAVA_21)
    void virtualThreadsAreRefused() throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        ThreadRanks.run(2, comm -> {
            CompletableFuture<Throwable> thrown = new CompletableFuture<>();
            start.invoke(null, (Runnable) () -> thrown.complete(catchThrowable(() -> LightGbmNetwork.over(comm))));
            assertThat(thrown.get(10, TimeUnit.SECONDS))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageStartingWith("thread=virtual: ");
            return null;
        });
    }

    @Test
    void callsByOtherThreadsAreRefused() throws Exception {
        ThreadRanks.run(2, comm -> {
            try (LightGbmNetwork network = LightGbmNetwork.over(comm)) {
                Throwable thrown = CompletableFuture.supplyAsync(() -> catchThrowable(() -> network.check(0)))
                        .get();
                assertThat(thrown)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining(
                                "expected thread=" + Thread.currentThread().getName());
                assertThat(CompletableFuture.supplyAsync(() -> catchThrowable(network::close))
                                .get())
                        .isInstanceOf(IllegalStateException.class);
            }
            return null;
        });
    }

    @Test
    void callsOnAClosedNetworkAreRefused() throws Exception {
        ThreadRanks.run(2, comm -> {
            LightGbmNetwork network = LightGbmNetwork.over(comm);
            network.close();
            network.close();
            assertThatThrownBy(() -> network.check(0))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("the LightGbmNetwork is closed: close it after the last call of LightGBM");
            return null;
        });
    }

    private static String train(LightGbmNetwork network, Communicator comm) {
        try (Training training = training(network, comm)) {
            training.restart(network.parameters(PARAMETERS));
            for (int i = 0; i < 3; i++) {
                training.update();
            }
            return training.trees();
        }
    }

    private static Training training(LightGbmNetwork network, Communicator comm) {
        return new Training(
                new Shard(comm.rank(), comm.size(), 2000, 20), network.parameters(PARAMETERS), network::check);
    }
}
