package io.jccl.membership;

import java.util.Arrays;

/**
 * What all processes know at one moment. Sets of processes and of groups are bit masks. Changed only while it is made;
 * {@link #key} makes it canonical.
 */
final class State {

    /** What a process does. */
    enum Phase {
        /** It has been killed, or it gave up and ended. */
        ENDED,
        /** It wants to join. */
        SEARCHES,
        /** It has a communicator. */
        RUNS,
        /** It has called reform. */
        REFORMS,
        /** All have met; the new communicator is initialised. */
        INITIALISES
    }

    static final int NONE = -1;

    /** A communicator. */
    static final class Group {
        final int generation;
        final int members;
        boolean committed; // the rank that leads has seen all finish
        boolean allRun; // and has seen all use it

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
        int group = NONE; // what it has, or reforms
        int next = NONE; // what it initialises
        int excluded; // members of the group
        int ports; // groups whose ports it keeps, beside that of its group and of what it initialises
        int before; // groups before its group, back to the last one that all were known to use
        boolean confirmed; // knows that all use the group

        Process(Phase phase) {
            this.phase = phase;
        }

        boolean lives() {
            return phase != Phase.ENDED;
        }
    }

    Process[] processes;
    Group[] groups;
    int cut; // processes on the other side of a partition; 0: there is none
    int failures; // that have occurred

    /** The beginning: so many ranks of a communicator, and processes that want to join. */
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

    /** Whether a process accepts connections for a group, so that nobody who is connected takes it for one that has ended. */
    boolean isOpen(int process, int group) {
        Process p = processes[process];
        return p.lives() && (p.group == group || p.next == group || (p.ports >> group & 1) != 0);
    }

    /** Whether an operation of a group can end: all its ranks use it and reach each other. */
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

    /** Forgets what nobody has any more, and returns what distinguishes this state from others. */
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
