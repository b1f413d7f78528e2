package io.jccl.events;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

@Name("io.jccl.Communicator")
@Label("Communicator")
@Description("A step in a communicator's life: init, join, split, shrink, reform or close")
@Category("JCCL")
@StackTrace(false)
final class CommunicatorEvent extends Event implements CommunicatorSpan {

    @Label("Phase")
    private String phase;

    @Label("Communicator")
    private String communicator;

    @Label("Rank")
    private int rank;

    @Label("Ranks")
    private int size;

    @Label("Steps")
    @Description("How long the parts of initialisation took")
    private String steps;

    @Label("Failure")
    private String failure;

    static boolean isRecorded() {
        return new CommunicatorEvent().isEnabled();
    }

    static CommunicatorSpan begun(String phase) {
        CommunicatorEvent event = new CommunicatorEvent();
        event.phase = phase;
        event.begin();
        return event;
    }

    @Override
    public void end(String id, int ofRank, int ranks, String parts, String why) {
        end();
        if (shouldCommit()) {
            communicator = id;
            rank = ofRank;
            size = ranks;
            steps = parts;
            failure = why;
            commit();
        }
    }
}
