package io.jccl.membership;

import io.jccl.membership.State.Group;
import io.jccl.membership.State.Phase;
import io.jccl.membership.State.Process;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Computes the steps that the membership protocol of {@code io.jccl.membership} can take next in a state.
 *
 * <p>A step is atomic: no process can see half of it. The meeting of all ranks is one step: a rank that missed the
 * meeting finds the leading rank gone, and so does a rank that took part. A failure kills a process at any moment, or
 * cuts the network in two, for good or until it heals.
 */
final class Protocol {

    /**
     * A step from one state to the next.
     *
     * @param mayNeverHappen true if the step comes from outside: a failure, or the end of a partition
     */
    record Step(String name, boolean mayNeverHappen, State next) {}

    /** The possible cuts of the network. */
    enum Cut {
        NEVER,
        FOR_GOOD,
        MAY_HEAL
    }

    private final Set<Rule> rules;
    private final int maxFailures;
    private final Cut cut;

    Protocol(Set<Rule> rules, int maxFailures, Cut cut) {
        this.rules = rules;
        this.maxFailures = maxFailures;
        this.cut = cut;
    }

    List<Step> steps(State state) {
        List<Step> steps = new ArrayList<>();
        if (state.failures < maxFailures) {
            failures(state, steps);
        }
        if (state.cut != 0 && cut == Cut.MAY_HEAL) {
            State next = state.copy();
            next.cut = 0;
            steps.add(new Step("the network heals", true, next));
        }
        for (int p = 0; p < state.processes.length; p++) {
            switch (state.processes[p].phase) {
                case RUNS -> runs(state, p, steps);
                case REFORMS -> reforms(state, p, steps);
                case INITIALISES -> initialises(state, p, steps);
                default -> {}
            }
        }
        return steps;
    }

    private void failures(State state, List<Step> steps) {
        for (int p = 0; p < state.processes.length; p++) {
            if (state.processes[p].lives()) {
                State next = state.copy();
                next.processes[p].phase = Phase.ENDED;
                next.failures++;
                steps.add(new Step("process " + p + " is killed", true, next));
            }
        }
        if (cut != Cut.NEVER && state.cut == 0) {
            for (int side = 1; side < 1 << state.processes.length - 1; side++) {
                State next = state.copy();
                next.cut = side;
                next.failures++;
                steps.add(new Step("the network is cut: " + Integer.toBinaryString(side), true, next));
            }
        }
    }

    /** Returns true if, to an observer, a process has ended or has been silent for too long. */
    private static boolean isGone(State state, int observer, int process) {
        return !state.processes[process].lives() || !state.connected(observer, process);
    }

    /** Returns true if an observer notices that a living process is in another group than its own. */
    private boolean wentAnotherWay(State state, int observer, int process, int group) {
        Process q = state.processes[process];
        return rules.contains(Rule.NOTICE_OTHER_GENERATION)
                && !isGone(state, observer, process)
                && (q.phase == Phase.SEARCHES
                        || (q.phase == Phase.RUNS || q.phase == Phase.REFORMS) && q.group != group);
    }

    private void runs(State state, int p, List<Step> steps) {
        Process mine = state.processes[p];
        Group group = state.groups[mine.group];
        for (int q : elements(group.members & ~(1 << p))) {
            if (isGone(state, p, q) || wentAnotherWay(state, p, q, mine.group)) {
                State next = state.copy();
                Process changed = next.processes[p];
                changed.phase = Phase.REFORMS;
                changed.excluded = 1 << q;
                steps.add(new Step("process " + p + " calls reform without " + q, false, next));
            } else if (rules.contains(Rule.NOTICE_FAILED_COMMUNICATOR) && hasFailedOn(state, q, mine.group)) {
                learn(state, p, q, steps);
            }
        }
        if (group.leader() == p && !group.allRun && allIn(state, mine.group, Phase.RUNS)) {
            State next = state.copy();
            next.groups[mine.group].allRun = true;
            confirm(next, p);
            steps.add(new Step("process " + p + " sees that all run", false, next));
        }
        if (group.allRun && !mine.confirmed && !isGone(state, p, group.leader())) {
            State next = state.copy();
            confirm(next, p);
            steps.add(new Step("process " + p + " learns that all run", false, next));
        }
    }

    private static boolean hasFailedOn(State state, int process, int group) {
        Process q = state.processes[process];
        return q.phase == Phase.REFORMS && q.group == group;
    }

    /**
     * Adds the step in which a process learns that its communicator has failed on another rank. The communicator then
     * fails on the process too, with the same failed ranks.
     */
    private static void learn(State state, int p, int from, List<Step> steps) {
        int excluded = state.processes[from].excluded;
        State next = state.copy();
        if ((excluded >> p & 1) != 0) {
            next.processes[p].phase = Phase.ENDED;
            steps.add(new Step("process " + p + " learns that it is taken for failed, and ends", false, next));
            return;
        }
        next.processes[p].phase = Phase.REFORMS;
        next.processes[p].excluded = excluded;
        steps.add(new Step("process " + p + " learns from " + from + " that the communicator has failed", false, next));
    }

    /**
     * Confirms the group of a process. The process keeps the ports of earlier groups for ranks that were left out and
     * may live: these ranks must not conclude that the process has ended.
     */
    private void confirm(State state, int p) {
        Process mine = state.processes[p];
        int members = state.groups[mine.group].members;
        int kept = 0;
        for (int group : elements(mine.ports | mine.before)) {
            for (int q : elements(state.groups[group].members & ~members)) {
                boolean hasEnded = state.connected(p, q) && !state.isOpen(q, group);
                kept |= hasEnded || !rules.contains(Rule.KEEP_PORT_FOR_THE_LIVING) ? 0 : 1 << group;
            }
        }
        mine.confirmed = true;
        mine.before &= kept;
        mine.ports &= kept;
    }

    private static boolean allIn(State state, int group, Phase phase) {
        for (int q : elements(state.groups[group].members)) {
            Process process = state.processes[q];
            int its = phase == Phase.INITIALISES ? process.next : process.group;
            if (process.phase != phase || its != group || isGone(state, state.groups[group].leader(), q)) {
                return false;
            }
        }
        return true;
    }

    private void reforms(State state, int p, List<Step> steps) {
        Process mine = state.processes[p];
        Group group = state.groups[mine.group];
        int left = group.members & ~mine.excluded;
        for (int q : elements(left & ~(1 << p))) {
            if (isGone(state, p, q) || wentAnotherWay(state, p, q, mine.group)) {
                State next = state.copy();
                next.processes[p].excluded |= 1 << q;
                steps.add(new Step("process " + p + " excludes " + q + " too", false, next));
            } else if (rules.contains(Rule.REFUSE_DIFFERENT) && differsForGood(state, p, q)) {
                State next = state.copy();
                next.processes[p].phase = Phase.ENDED;
                steps.add(new Step("process " + p + " excludes others than " + q + " and ends", false, next));
            }
        }
        if (Integer.numberOfTrailingZeros(left) != p) {
            return;
        }
        if (rules.contains(Rule.MAJORITY) && !isMajority(state, p, left)) {
            State next = state.copy();
            next.processes[p].phase = Phase.ENDED;
            steps.add(new Step("process " + p + " would lead a minority and ends", false, next));
            return;
        }
        int came = 0;
        for (int q : elements(left)) {
            Process other = state.processes[q];
            came |= other.phase == Phase.REFORMS
                            && other.group == mine.group
                            && other.excluded == mine.excluded
                            && !isGone(state, p, q)
                    ? 1 << q
                    : 0;
        }
        if (came == left || !rules.contains(Rule.ALL_COME)) {
            meet(state, p, came, steps);
        }
    }

    /**
     * Returns true if another rank reforms the same group but excludes different ranks, and neither has a failure left
     * to notice.
     */
    private boolean differsForGood(State state, int p, int q) {
        return hasFailedOn(state, q, state.processes[p].group)
                && state.processes[p].excluded != state.processes[q].excluded
                && knowsAll(state, p)
                && knowsAll(state, q);
    }

    private boolean knowsAll(State state, int p) {
        Process mine = state.processes[p];
        for (int q : elements(state.groups[mine.group].members & ~mine.excluded & ~(1 << p))) {
            if (isGone(state, p, q) || wentAnotherWay(state, p, q, mine.group)) {
                return false;
            }
        }
        return true;
    }

    /** Adds steps in which any number of processes join, because the application chooses the number. */
    private void meet(State state, int p, int survivors, List<Step> steps) {
        int joiners = 0;
        meetWith(state, p, survivors, joiners, steps);
        for (int q = 0; q < state.processes.length; q++) {
            if (state.processes[q].phase == Phase.SEARCHES && !isGone(state, p, q)) {
                joiners |= 1 << q;
                meetWith(state, p, survivors, joiners, steps);
            }
        }
    }

    private void meetWith(State state, int p, int survivors, int joiners, List<Step> steps) {
        State next = state.copy();
        int generation = state.groups[state.processes[p].group].generation + 1;
        int made = next.add(new Group(generation, survivors | joiners, false, false));
        for (int q : elements(survivors | joiners)) {
            next.processes[q].phase = Phase.INITIALISES;
            next.processes[q].next = made;
            next.processes[q].before |= (joiners >> q & 1) != 0 && rules.contains(Rule.JOINERS_KNOW_GROUP_BEFORE)
                    ? 1 << state.processes[p].group | state.processes[p].before
                    : 0;
        }
        steps.add(new Step(
                "all meet at " + p + ": " + Integer.toBinaryString(survivors) + " and "
                        + Integer.toBinaryString(joiners),
                false,
                next));
    }

    /**
     * Returns true if the remaining ranks are a majority of the group. Unless all ranks are known to use the group,
     * they must also be a majority of the groups before it.
     */
    private boolean isMajority(State state, int p, int left) {
        Process mine = state.processes[p];
        int groups = 1 << mine.group | (rules.contains(Rule.MAJORITY_OF_BOTH) ? mine.before : 0);
        for (int group : elements(groups)) {
            if (!isMajority(state, p, left, group, groups)) {
                return false;
            }
        }
        return true;
    }

    /**
     * Returns true if the remaining ranks are more than half of a group's ranks that are not known to have ended. In
     * the process's own group, exactly half suffices if the group's lowest rank remains.
     */
    private boolean isMajority(State state, int p, int left, int of, int groups) {
        Group group = state.groups[of];
        int living = 0;
        for (int q : elements(group.members)) {
            boolean refuses = (left >> q & 1) == 0 && state.connected(p, q);
            for (int one : elements(groups)) {
                refuses &= !state.isOpen(q, one);
            }
            living += refuses ? 0 : 1;
        }
        int mine = 2 * Integer.bitCount(left & group.members);
        if (of != state.processes[p].group) {
            return mine > living || living == 0 && !rules.contains(Rule.SOMEBODY_IS_LEFT);
        }
        return mine > living
                || mine == living
                        && (living == 0 && !rules.contains(Rule.SOMEBODY_IS_LEFT) || (left >> group.leader() & 1) != 0);
    }

    private void initialises(State state, int p, List<Step> steps) {
        Process mine = state.processes[p];
        Group made = state.groups[mine.next];
        boolean leads = made.leader() == p;
        if (leads && !made.committed && allIn(state, mine.next, Phase.INITIALISES)) {
            State next = state.copy();
            next.groups[mine.next].committed = true;
            use(next, p);
            steps.add(new Step("process " + p + " sees that all have initialised", false, next));
        }
        if (!leads && made.committed && !isGone(state, p, made.leader())) {
            State next = state.copy();
            use(next, p);
            steps.add(new Step("process " + p + " learns that all have initialised", false, next));
        }
        if (!rules.contains(Rule.NOTICE_WHILE_INITIALISING)) {
            return;
        }
        for (int q : elements(made.members & ~(1 << p))) {
            Process other = state.processes[q];
            if (isGone(state, p, q)) {
                fail(state, p, 1 << q, steps);
            } else if (other.next != mine.next && other.group != mine.next) {
                fail(state, p, 0, steps); // process q has failed to initialise
            }
        }
    }

    private void use(State state, int p) {
        Process mine = state.processes[p];
        int group = mine.group == State.NONE ? 0 : 1 << mine.group;
        mine.ports = rules.contains(Rule.KEEP_PORT_UNTIL_CONFIRMED) ? mine.ports | group : 0;
        mine.before |= group;
        mine.phase = Phase.RUNS;
        mine.group = mine.next;
        mine.next = State.NONE;
        mine.excluded = 0;
        mine.confirmed = false;
    }

    private void fail(State state, int p, int gone, List<Step> steps) {
        State next = state.copy();
        Process mine = next.processes[p];
        Group made = next.groups[mine.next];
        mine.ports |= 1 << mine.next;
        mine.next = State.NONE;
        if (mine.group == State.NONE) {
            mine.phase = Phase.SEARCHES;
            mine.before = 0;
        } else {
            mine.phase = Phase.REFORMS;
            mine.excluded |= gone & next.groups[mine.group].members;
        }
        steps.add(new Step("process " + p + " fails to initialise generation " + made.generation, false, next));
    }

    /** Returns the positions of the bits that are set. */
    private static List<Integer> elements(int mask) {
        List<Integer> elements = new ArrayList<>();
        for (int left = mask; left != 0; left &= left - 1) {
            elements.add(Integer.numberOfTrailingZeros(left));
        }
        return elements;
    }
}
