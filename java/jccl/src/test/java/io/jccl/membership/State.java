package io.jccl.membership;

import java.util.Arrays;

/**
 * A state of the membership protocol: what each process knows at one moment. Sets of processes and of groups are bit
 * masks. A state changes only while it is built; {@link #key} makes it canonical.
 */
final class State {

    /** The activity of a process. */
    enum Phase {
        /** The process has been killed, or it gave up and ended. */
        ENDED,
        /** The process wants to join. */
        SEARCHES,
        /** The process has a communicator. */
        RUNS,
        /** The process has called reform. */
        REFORMS,
        /** All ranks have met, and the process initialises the new communicator. */
        INITIALISES
    }

    static final int NONE = -1;

    /** A communicator. */
    static final class Group {
        final int generation;
        final int members;
        boolean committed; // the leader has seen all members initialise the group
        boolean allRun; // the leader has seen all members use the group

        Group(int generation, int members, boolean committed, boolean allRun) {
            this.generation = generation;
            this.members = members;
            this.committed = committed;
            this.allRun = allRun;
        }

        int leader() {
            return Integer.numberOfTrailingZeros(members);
        }
    }

    /** A process. */
    static final class Process {
        Phase phase;
        int group = NONE; // the group that it uses or reforms
        int next = NONE; // the group that it initialises
        int excluded; // members of the group that it excludes
        int ports; // groups whose ports it keeps open, in addition to those of group and next
        int before; // groups before its group, back to the last one known to be used by all its members
        boolean confirmed; // it knows that all members use the group

        Process(Phase phase) {
            this.phase = phase;
        }

        boolean lives() {
            return phase != Phase.ENDED;
        }
    }

    Process[] processes;
    Group[] groups;
    int cut; // processes on one side of a network partition; 0 if there is none
    int failures; // number of failures so far

    /** Returns the initial state: the ranks of one communicator, and processes that want to join it. */
    static State initial(int ranks, int joiners) {
        State state = new State();
        state.groups = new Group[] {new Group(0, (1 << ranks) - 1, true, true)};
        state.processes = new Process[ranks + joiners];
        for (int i = 0; i < state.processes.length; i++) {
            state.processes[i] = new Process(i < ranks ? Phase.RUNS : Phase.SEARCHES);
            state.processes[i].group = i < ranks ? 0 : NONE;
            state.processes[i].confirmed = i < ranks;
        }
        return state;
    }

    State copy() {
        State copy = new State();
        copy.cut = cut;
        copy.failures = failures;
        copy.groups = new Group[groups.length];
        for (int i = 0; i < groups.length; i++) {
            Group g = groups[i];
            copy.groups[i] = new Group(g.generation, g.members, g.committed, g.allRun);
        }
        copy.processes = new Process[processes.length];
        for (int i = 0; i < processes.length; i++) {
            Process p = processes[i];
            Process q = new Process(p.phase);
            q.group = p.group;
            q.next = p.next;
            q.excluded = p.excluded;
            q.ports = p.ports;
            q.before = p.before;
            q.confirmed = p.confirmed;
            copy.processes[i] = q;
        }
        return copy;
    }

    int add(Group group) {
        groups = Arrays.copyOf(groups, groups.length + 1);
        groups[groups.length - 1] = group;
        return groups.length - 1;
    }

    boolean connected(int one, int other) {
        return ((cut >> one ^ cut >> other) & 1) == 0;
    }

    /**
     * Returns true if a process accepts connections for a group, so that processes that can reach it do not conclude
     * that it has ended.
     */
    boolean isOpen(int process, int group) {
        Process p = processes[process];
        return p.lives() && (p.group == group || p.next == group || (p.ports >> group & 1) != 0);
    }

    /** Returns true if operations of a group can complete: all its ranks use it and reach each other. */
    boolean goesOn(int group) {
        int members = groups[group].members;
        for (int i = 0; i < processes.length; i++) {
            if ((members >> i & 1) != 0
                    && (processes[i].phase != Phase.RUNS
                            || processes[i].group != group
                            || !connected(i, groups[group].leader()))) {
                return false;
            }
        }
        return true;
    }

    /** Removes groups that no living process refers to, and returns a text that is equal only for equal states. */
    String key() {
        forget();
        StringBuilder key = new StringBuilder();
        key.append((char) cut).append((char) failures);
        for (Process p : processes) {
            key.append((char)
                            (p.phase.ordinal() | (p.group + 1) << 3 | (p.next + 1) << 7 | (p.confirmed ? 1 << 11 : 0)))
                    .append((char) (p.excluded | p.ports << 8))
                    .append((char) p.before);
        }
        for (Group g : groups) {
            key.append((char) (g.generation | g.members << 4 | (g.committed ? 1 << 10 : 0) | (g.allRun ? 1 << 11 : 0)));
        }
        return key.toString();
    }

    private void forget() {
        int used = 0;
        for (Process p : processes) {
            if (!p.lives()) {
                p.group = NONE;
                p.next = NONE;
                p.excluded = 0;
                p.ports = 0;
                p.before = 0;
                p.confirmed = false;
            } else {
                used |= (p.group == NONE ? 0 : 1 << p.group) | (p.next == NONE ? 0 : 1 << p.next) | p.ports | p.before;
            }
        }
        int[] moved = new int[groups.length];
        Group[] left = new Group[Integer.bitCount(used)];
        int count = 0;
        for (int i = 0; i < groups.length; i++) {
            moved[i] = NONE;
            if ((used >> i & 1) != 0) {
                left[count] = groups[i];
                moved[i] = count++;
            }
        }
        groups = left;
        for (Process p : processes) {
            p.group = p.group == NONE ? NONE : moved[p.group];
            p.next = p.next == NONE ? NONE : moved[p.next];
            p.ports = moved(p.ports, moved);
            p.before = moved(p.before, moved);
        }
    }

    private static int moved(int mask, int[] moved) {
        int result = 0;
        for (int i = 0; i < moved.length; i++) {
            result |= (mask >> i & 1) != 0 ? 1 << moved[i] : 0;
        }
        return result;
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("cut=" + Integer.toBinaryString(cut) + " failures=" + failures);
        for (int i = 0; i < processes.length; i++) {
            Process p = processes[i];
            text.append("\n    process ").append(i).append(' ').append(p.phase);
            if (p.group != NONE) {
                text.append(" group=").append(p.group).append(p.confirmed ? " confirmed" : "");
            }
            if (p.next != NONE) {
                text.append(" next=").append(p.next);
            }
            text.append(" excluded=").append(Integer.toBinaryString(p.excluded));
            text.append(" ports=").append(Integer.toBinaryString(p.ports));
            text.append(" before=").append(Integer.toBinaryString(p.before));
        }
        for (int i = 0; i < groups.length; i++) {
            Group g = groups[i];
            text.append("\n    group ").append(i).append(" generation=").append(g.generation);
            text.append(" members=").append(Integer.toBinaryString(g.members));
            text.append(g.committed ? " committed" : "").append(g.allRun ? " all run" : "");
        }
        return text.toString();
    }
}
