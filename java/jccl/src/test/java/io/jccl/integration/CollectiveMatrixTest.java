package io.jccl.integration;

import io.jccl.Algorithm;
import io.jccl.CommunicatorConfig;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.tuning.HostCosts;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Tests every collective for many combinations of number of ranks, transport, algorithm and protocol; ranks are
 * threads. In each combination, type, operation, count, root, memory and alignment are drawn at random with a fixed
 * seed.
 */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CollectiveMatrixTest {

    private static final int[] RANKS = {1, 2, 3, 4, 5, 8};
    private static final int CASES = 60;

    /** The setup of a communicator. If {@code algorithm} and {@code protocol} are null, JCCL chooses them. */
    record Setup(int ranks, TransportKind transport, Algorithm algorithm, Protocol protocol) {

        /** Returns a seed that depends only on the setup, so that every run draws the same cases. */
        long seed() {
            int how = algorithm == null ? 9 : 3 * algorithm.ordinal() + protocol.ordinal();
            return (ranks * 10L + transport.ordinal()) * 10L + how;
        }
    }

    static Stream<Setup> setups() {
        List<Setup> setups = new ArrayList<>();
        for (int ranks : RANKS) {
            for (TransportKind transport : TransportKind.values()) {
                setups.add(new Setup(ranks, transport, null, null));
                for (Algorithm algorithm : HostCosts.ALGORITHMS) {
                    for (Protocol protocol : Protocol.values()) {
                        // Every third combination keeps the test short; every pair of values still occurs.
                        boolean chosen =
                                (ranks + transport.ordinal() + algorithm.ordinal() + protocol.ordinal()) % 3 == 0;
                        if (chosen || ranks == 3 && transport == TransportKind.P2P) {
                            setups.add(new Setup(ranks, transport, algorithm, protocol));
                        }
                    }
                }
            }
        }
        return setups.stream().filter(CollectiveMatrixTest::exists);
    }

    /**
     * Returns true if the setup is worth a test here. A single rank needs no transport, so it is tested with P2P only.
     */
    private static boolean exists(Setup setup) {
        if (setup.transport() == TransportKind.IB) {
            return false; // needs adapters; scripts/check-rdma runs its own matrix over them
        }
        return setup.ranks() > 1 || setup.transport() == TransportKind.P2P;
    }

    @ParameterizedTest
    @MethodSource("setups")
    void everyCollectiveGivesTheExactResult(Setup setup) {
        CommunicatorConfig.Builder config = TestPlugins.config(setup.transport(), setup.ranks());
        if (setup.algorithm() != null) {
            config.algorithm(setup.algorithm()).protocol(setup.protocol());
        }
        List<CollectiveCase> cases = CollectiveCase.sample(setup.seed(), setup.ranks(), CASES, true);
        try (LocalRanks ranks = LocalRanks.start(setup.ranks(), config.build())) {
            ranks.run(comm -> {
                try (Arena arena = new Arena(CollectiveCase.arenaBytes(setup.ranks()))) {
                    for (CollectiveCase one : cases) {
                        one.check(comm, arena);
                    }
                }
            });
        }
    }
}
