package io.jccl.cli.ps;

import io.jccl.status.Absentee;
import io.jccl.status.Answer;
import io.jccl.status.ProcessSnapshot;
import io.jccl.status.RankSnapshot;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;

/** Selects the parts of answers that concern one job. */
final class JobOf {

    private JobOf() {}

    /** Selects the jobs of a process. The process itself may not have answered. */
    static List<Answer> process(long pid, List<Answer> answers) {
        Set<String> jobs = new HashSet<>();
        Set<String> communicators = new HashSet<>();
        for (Answer answer : answers) {
            for (ProcessSnapshot process : answer.processes()) {
                if (process.pid() == pid) {
                    process.ranks().forEach(rank -> jobs.add(rank.job()));
                    process.joins().forEach(join -> jobs.add(join.job()));
                }
            }
            for (Absentee absentee : answer.absentees()) {
                if (absentee.process().pid() == pid) {
                    communicators.add(absentee.communicator());
                }
            }
        }
        return select(
                answers,
                jobs::contains,
                rank -> jobs.contains(rank.job()) || communicators.contains(rank.communicator()));
    }

    /** Selects the jobs and communicators whose names begin with a text. */
    static List<Answer> named(String id, List<Answer> answers) {
        return select(
                answers,
                job -> job.startsWith(id),
                rank -> rank.job().startsWith(id) || rank.communicator().startsWith(id));
    }

    private static List<Answer> select(
            List<Answer> answers, Predicate<String> wantedJob, Predicate<RankSnapshot> wanted) {
        return answers.stream()
                .map(answer -> new Answer(
                        answer.processes().stream()
                                .map(process -> new ProcessSnapshot(
                                        process.process(),
                                        process.pid(),
                                        process.hostId(),
                                        process.hostName(),
                                        process.port(),
                                        process.awaited(),
                                        process.ranks().stream().filter(wanted).toList(),
                                        process.joins().stream()
                                                .filter(join -> wantedJob.test(join.job()))
                                                .toList(),
                                        process.dumps()))
                                .toList(),
                        answer.absentees()))
                .toList();
    }
}
