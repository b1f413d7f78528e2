package io.jccl.membership;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Visits every reachable state of the membership protocol, and checks that
 *
 * <ul>
 * <li>two groups never continue at the same time;
 * <li>without further failures the steps come to an end, and then every living process has a group that continues or
 * still wants to join.
 * </ul>
 */
final class Explorer {

    private static final int MAX_GROUPS = 8; // State.key() has bits for at most 8 groups

    private final Protocol protocol;
    private final Map<String, Integer> numbers = new HashMap<>();
    private final List<String> keys = new ArrayList<>();
    private int[] cameFrom = new int[1024];
    private String[] cameBy = new String[1024];
    private int[][] successors = new int[1024][]; // states reached from each state by steps other than mayNeverHappen
    private int steps;
    private int ends;
    private int endsWithAGroup;

    Explorer(Protocol protocol) {
        this.protocol = protocol;
    }

    int states() {
        return keys.size();
    }

    int steps() {
        return steps;
    }

    /** Returns the number of final states, in which nothing happens without another failure. */
    int ends() {
        return ends;
    }

    /** Returns the number of final states in which a group continues. */
    int endsInWhichAGroupGoesOn() {
        return endsWithAGroup;
    }

    /** Explores from an initial state. Returns the first violation and the steps to it, or empty if there is none. */
    Optional<String> explore(State initial) {
        Deque<State> open = new ArrayDeque<>();
        add(initial, -1, "the beginning", open);
        for (int number = 0; !open.isEmpty(); number++) {
            State state = open.remove();
            Optional<String> wrong = wrongIn(state);
            List<Protocol.Step> all = protocol.steps(state);
            steps += all.size();
            int[] next = new int[all.size()];
            int count = 0;
            for (Protocol.Step step : all) {
                int reached = add(step.next(), number, step.name(), open);
                if (!step.mayNeverHappen()) {
                    next[count++] = reached;
                }
            }
            successors[number] = Arrays.copyOf(next, count);
            if (wrong.isEmpty() && count == 0) {
                ends++;
                endsWithAGroup += goingOn(state) > 0 ? 1 : 0;
                wrong = stuckIn(state);
            }
            if (wrong.isPresent()) {
                return Optional.of(wrong.get() + ":" + pathTo(number) + "\n  in the state " + state);
            }
        }
        return cycle();
    }

    private int add(State state, int from, String by, Deque<State> open) {
        String key = state.key();
        Integer known = numbers.get(key);
        if (known != null) {
            return known;
        }
        if (state.groups.length > MAX_GROUPS) {
            throw new IllegalStateException("groups=" + state.groups.length + ": expected at most " + MAX_GROUPS);
        }
        int number = keys.size();
        numbers.put(key, number);
        keys.add(key);
        if (number == cameFrom.length) {
            cameFrom = Arrays.copyOf(cameFrom, 2 * number);
            cameBy = Arrays.copyOf(cameBy, 2 * number);
            successors = Arrays.copyOf(successors, 2 * number);
        }
        cameFrom[number] = from;
        cameBy[number] = by;
        open.add(state);
        return number;
    }

    private static int goingOn(State state) {
        int goingOn = 0;
        for (int group = 0; group < state.groups.length; group++) {
            goingOn += state.goesOn(group) ? 1 : 0;
        }
        return goingOn;
    }

    private static Optional<String> wrongIn(State state) {
        return goingOn(state) > 1 ? Optional.of("two groups go on") : Optional.empty();
    }

    private static Optional<String> stuckIn(State state) {
        for (int p = 0; p < state.processes.length; p++) {
            State.Process process = state.processes[p];
            boolean fine = !process.lives()
                    || process.phase == State.Phase.SEARCHES
                    || process.phase == State.Phase.RUNS && state.goesOn(process.group);
            if (!fine) {
                return Optional.of("process " + p + " waits for ever");
            }
        }
        return Optional.empty();
    }

    private String pathTo(int number) {
        List<String> path = new ArrayList<>();
        for (int at = number; at >= 0; at = cameFrom[at]) {
            path.add("\n  " + cameBy[at]);
        }
        Collections.reverse(path);
        return String.join("", path);
    }

    /**
     * Repeatedly removes states that no state leads to. Each remaining state is on a cycle or can be reached from one.
     */
    private Optional<String> cycle() {
        int[] leadingHere = new int[keys.size()];
        for (int number = 0; number < keys.size(); number++) {
            for (int next : successors[number]) {
                leadingHere[next]++;
            }
        }
        Deque<Integer> free = new ArrayDeque<>();
        for (int number = 0; number < leadingHere.length; number++) {
            if (leadingHere[number] == 0) {
                free.add(number);
            }
        }
        int taken = 0;
        while (!free.isEmpty()) {
            taken++;
            for (int next : successors[free.remove()]) {
                if (--leadingHere[next] == 0) {
                    free.add(next);
                }
            }
        }
        if (taken == leadingHere.length) {
            return Optional.empty();
        }
        for (int number = 0; ; number++) {
            if (leadingHere[number] > 0) {
                return Optional.of("steps repeat without an end:" + pathTo(number));
            }
        }
    }
}
