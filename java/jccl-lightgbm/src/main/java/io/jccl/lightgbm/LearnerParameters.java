package io.jccl.lightgbm;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * Checks the parameters of distributed training in a text of LightGBM, such as
 * {@code objective=binary tree_learner=data}.
 */
final class LearnerParameters {

    // The names of each parameter, in order of precedence: the first name that is given counts.
    private static final List<String> TREE_LEARNER = List.of("tree_learner", "tree", "tree_type", "tree_learner_type");
    private static final List<String> NUM_MACHINES = List.of("num_machines", "num_machine");
    private static final List<String> MACHINES = List.of(
            "machines", "workers", "nodes", "machine_list_filename", "machine_list_file", "machine_list", "mlist");
    private static final Set<String> LEARNERS = Set.of("data", "data_parallel", "voting", "voting_parallel");

    private final String parameters;

    private LearnerParameters(String parameters) {
        this.parameters = parameters;
    }

    /**
     * Returns the parameters, with {@code num_machines} added.
     *
     * @throws IllegalArgumentException if the parameters do not fit training on {@code size} ranks
     */
    static String forRanks(int size, String parameters) {
        LearnerParameters given = new LearnerParameters(parameters);
        given.value(MACHINES).ifPresent(value -> {
            throw new IllegalArgumentException(
                    "machines=" + value + ": expected none, the communicator connects the ranks; remove the parameter");
        });
        String learner = given.value(TREE_LEARNER).orElse("serial");
        if (!LEARNERS.contains(learner.toLowerCase(Locale.ROOT))) {
            throw new IllegalArgumentException("tree_learner=" + learner + ": expected data or voting"
                    + (learner.startsWith("feature")
                            ? "; LightGBM's API refuses feature, only its command supports it"
                            : ""));
        }
        Optional<String> machines = given.value(NUM_MACHINES);
        if (machines.isEmpty()) {
            return parameters + " num_machines=" + size;
        }
        if (!machines.get().equals(Integer.toString(size))) {
            throw new IllegalArgumentException("num_machines=" + machines.get() + ": expected " + size
                    + ", the size of the communicator; remove the parameter");
        }
        return parameters;
    }

    /** Returns the first value under the first of {@code names} that is given, as LightGBM reads it. */
    private Optional<String> value(List<String> names) {
        for (String name : names) {
            for (String parameter : parameters.strip().split("\\s+")) {
                String[] parts = parameter.split("=", 2);
                if (parts.length == 2 && name.equals(unquoted(parts[0]))) {
                    return Optional.of(unquoted(parts[1]));
                }
            }
        }
        return Optional.empty();
    }

    private static String unquoted(String text) {
        return text.replaceAll("^[\"']+|[\"']+$", "");
    }
}
