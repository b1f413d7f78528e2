package io.jccl.pytorch;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Communicator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.bytedeco.pytorch.global.torch;

/** Scenarios on the ranks of a job. Each process runs all of them, and prints whether they passed. */
final class Scenarios {

    /** A scenario on one rank. */
    interface Scenario {
        void run(Communicator comm) throws Exception;
    }

    private final Map<String, Scenario> scenarios = new LinkedHashMap<>();

    Scenarios add(String name, Scenario scenario) {
        scenarios.put(name, scenario);
        return this;
    }

    /** Runs the scenarios, each with a communicator of its own. */
    void run() {
        try (Communicator all = Communicator.fromEnvironment()) {
            scenarios.forEach((name, scenario) -> run(all, name, scenario));
        }
    }

    private static void run(Communicator all, String name, Scenario scenario) {
        torch.manual_seed(7);
        try (Communicator comm = all.split(0, all.rank()).orElseThrow()) {
            long begin = System.nanoTime();
            scenario.run(comm);
            System.out.println("PASSED " + name + " (" + (System.nanoTime() - begin) / 1_000_000 + " ms)");
        } catch (Throwable e) {
            System.out.println("FAILED " + name);
            e.printStackTrace(System.out);
        }
    }

    /** Requires that all ranks have passed a scenario. */
    static void requirePassed(String[] outputs, String name) {
        for (String output : outputs) {
            assertThat(output)
                    .as("output of one of the ranks, which printed:\n%s", String.join("\n---\n", outputs))
                    .contains("PASSED " + name + " (");
        }
    }
}
