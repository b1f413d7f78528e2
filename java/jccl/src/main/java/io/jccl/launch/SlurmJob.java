package io.jccl.launch;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/**
 * The variables of Slurm that are equal in all processes of a job, or of one step. The variables of steps differ within
 * a job. For example, if {@code mpirun} is started in a job, it uses {@code srun} only to start its daemons on the
 * other hosts. Immutable.
 */
final class SlurmJob {

    /**
     * The first number that Slurm uses for steps that srun did not start: the batch script, the shell of an allocation,
     * and so on.
     */
    private static final long FIRST_RESERVED_STEP = 0xffff_fff0L;

    private static final List<String> STEP_IDS = List.of("SLURM_STEP_ID", "SLURM_STEPID");

    /**
     * The variables that may contain the job's number, in order of precedence. The components of a heterogeneous job
     * have numbers of their own, so the variables that are equal in all components come first.
     */
    private static final List<String> JOB_IDS = List.of(
            "SLURM_HET_JOB_ID",
            "SLURM_PACK_JOB_ID",
            "SLURM_JOB_ID_HET_GROUP_0",
            "SLURM_JOB_ID_PACK_GROUP_0",
            "SLURM_JOB_ID",
            "SLURM_JOBID");

    private static final List<String> JOB_NODES = List.of("SLURM_JOB_NODELIST", "SLURM_NODELIST");
    private static final List<String> STEP_NODES = List.of("SLURM_STEP_NODELIST");
    private static final List<String> COMPONENT_NODES =
            List.of("SLURM_JOB_NODELIST_HET_GROUP_", "SLURM_JOB_NODELIST_PACK_GROUP_");
    private static final int MAX_COMPONENTS = 128; // the limit of Slurm itself
    private static final int MAX_NODES = 65_536;
    private static final String NAME = "[A-Za-z0-9._-]+";

    private final Function<String, Optional<String>> variables;

    SlurmJob(Function<String, Optional<String>> variables) {
        this.variables = variables;
    }

    private Optional<String> first(List<String> names) {
        return names.stream().map(variables).flatMap(Optional::stream).findFirst();
    }

    Optional<String> id() {
        return first(JOB_IDS);
    }

    /**
     * Returns the number of the step; empty if no variable contains one. If {@code mpirun} started the processes of a
     * job, only those on mpirun's own host may see a number.
     */
    Optional<String> step() {
        return first(STEP_IDS);
    }

    /** Returns true in a process that srun has started, and in all processes that such a process starts. */
    boolean insideStep() {
        return step().filter(step -> step.matches("[0-9]{1,10}") && Long.parseLong(step) < FIRST_RESERVED_STEP)
                .isPresent();
    }

    /** Returns the hosts of the step in their order, then those of the job: rank 0 of a step may be on any of them. */
    List<String> stepNodes() {
        return nodes(List.of(STEP_NODES, JOB_NODES));
    }

    /** Returns the hosts of the job in their order, then those of the step. */
    List<String> jobNodes() {
        return nodes(List.of(JOB_NODES, STEP_NODES));
    }

    private List<String> nodes(List<List<String>> lists) {
        Set<String> nodes = new LinkedHashSet<>();
        for (List<String> names : lists) {
            for (String name : names) {
                variables.apply(name).ifPresent(list -> nodes.addAll(expand(name, list)));
            }
        }
        for (String prefix : COMPONENT_NODES) {
            for (int i = 0; i < MAX_COMPONENTS; i++) {
                String name = prefix + i;
                Optional<String> list = variables.apply(name);
                if (list.isEmpty()) {
                    break;
                }
                nodes.addAll(expand(name, list.get()));
            }
        }
        return List.copyOf(nodes);
    }

    /**
     * Returns the hosts of a Slurm node list: {@code n[08-09,12],login} gives {@code n08}, {@code n09}, {@code n12} and
     * {@code login}.
     *
     * @param variable the variable that contains the list, for the message
     * @throws IllegalArgumentException if the list is invalid
     */
    static List<String> expand(String variable, String list) {
        List<String> nodes = new ArrayList<>();
        int begin = 0;
        boolean inside = false;
        for (int i = 0; i <= list.length(); i++) {
            char c = i < list.length() ? list.charAt(i) : ',';
            inside = c == '[' || inside && c != ']';
            if (i == list.length() || c == ',' && !inside) {
                nodes.addAll(expandOne(variable, list, list.substring(begin, i)));
                begin = i + 1;
            }
        }
        return nodes;
    }

    /** Returns all combinations of the ranges of an entry. The last range varies fastest. */
    private static List<String> expandOne(String variable, String list, String entry) {
        int open = entry.indexOf('[');
        if (open < 0) {
            if (!entry.matches(NAME)) {
                throw bad(variable, list);
            }
            return List.of(entry);
        }
        int close = entry.indexOf(']', open);
        if (close < 0) {
            throw bad(variable, list);
        }
        List<String> nodes = new ArrayList<>();
        for (String range : entry.substring(open + 1, close).split(",", -1)) {
            if (!range.matches("[0-9]{1,9}(-[0-9]{1,9})?")) {
                throw bad(variable, list);
            }
            String low = range.split("-")[0];
            int from = Integer.parseInt(low);
            int to = Integer.parseInt(range.substring(range.indexOf('-') + 1));
            if (to < from || to - from >= MAX_NODES) {
                throw bad(variable, list);
            }
            for (int number = from; number <= to && nodes.size() < MAX_NODES; number++) {
                String digits = Integer.toString(number);
                String padded = "0".repeat(Math.max(0, low.length() - digits.length())) + digits;
                nodes.addAll(expandOne(variable, list, entry.substring(0, open) + padded + entry.substring(close + 1)));
            }
        }
        return nodes;
    }

    private static IllegalArgumentException bad(String variable, String list) {
        return new IllegalArgumentException(variable + "=\"" + list
                + "\": expected a list like node[03-07,12]; or set JCCL_RENDEZVOUS=host:port/secret on all ranks");
    }
}
