package io.jccl.membership;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.membership.Protocol.Cut;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Explores the membership protocol of {@code shrink} and {@code reform} exhaustively: whatever fails in whatever order,
 * two groups never continue, and no process waits for ever. {@code -Djccl.test.seeds=100} adds the largest cases, which
 * take minutes.
 */
@Timeout(value = 600, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MembershipModelTest {

    private static final boolean ALL = Integer.getInteger("jccl.test.seeds", 20) >= 100;

    private static Explorer explorer(Set<Rule> rules, int failures, Cut cut) {
        return new Explorer(new Protocol(rules, failures, cut));
    }

    /** Prints the number of states. */
    @ParameterizedTest(name = "ranks={0} joiners={1} failures={2} cut={3}")
    @CsvSource({
        "2, 1, 3, MAY_HEAL, false",
        "3, 1, 2, MAY_HEAL, false",
        "4, 0, 2, MAY_HEAL, false",
        "5, 0, 1, MAY_HEAL, false",
        "4, 0, 3, FOR_GOOD, false",
        "3, 2, 2, FOR_GOOD, false",
        "3, 2, 3, NEVER, false",
        "4, 1, 3, NEVER, false",
        "5, 0, 3, NEVER, false",
        "3, 2, 2, MAY_HEAL, true",
        "4, 0, 3, MAY_HEAL, true",
        "3, 2, 3, FOR_GOOD, true",
        "4, 1, 3, FOR_GOOD, true",
        "5, 0, 3, FOR_GOOD, true"
    })
    void twoGroupsNeverContinueAndNobodyWaitsForEver(int ranks, int joiners, int failures, Cut cut, boolean large) {
        assumeTrue(ALL || !large, "takes minutes: -Djccl.test.seeds=100");
        Explorer explorer = explorer(EnumSet.allOf(Rule.class), failures, cut);
        Optional<String> wrong = explorer.explore(State.initial(ranks, joiners));
        System.out.printf(
                "membership: ranks=%d joiners=%d failures=%d cut=%s states=%d steps=%d ends=%d%n",
                ranks, joiners, failures, cut, explorer.states(), explorer.steps(), explorer.ends());
        assertThat(wrong).isEmpty();
        assertThat(explorer.ends()).isPositive();
    }

    /** Returns the smallest case in which the protocol without the rule has a violation. */
    private static Case smallestCase(Rule rule) {
        return switch (rule) {
            case MAJORITY, ALL_COME -> new Case(3, 0, 1, Cut.FOR_GOOD, "two groups go on");
            case KEEP_PORT_UNTIL_CONFIRMED -> new Case(3, 1, 2, Cut.NEVER, "two groups go on");
            case MAJORITY_OF_BOTH, JOINERS_KNOW_GROUP_BEFORE -> new Case(3, 2, 2, Cut.FOR_GOOD, "two groups go on");
            case SOMEBODY_IS_LEFT -> new Case(3, 2, 3, Cut.NEVER, "two groups go on");
            case KEEP_PORT_FOR_THE_LIVING -> new Case(4, 1, 3, Cut.NEVER, "two groups go on");
            case NOTICE_WHILE_INITIALISING -> new Case(3, 0, 2, Cut.NEVER, "waits for ever");
            case NOTICE_OTHER_GENERATION -> new Case(3, 1, 2, Cut.NEVER, "waits for ever");
            case NOTICE_FAILED_COMMUNICATOR -> new Case(3, 0, 1, Cut.MAY_HEAL, "waits for ever");
            case REFUSE_DIFFERENT -> new Case(3, 0, 2, Cut.MAY_HEAL, "waits for ever");
        };
    }

    private record Case(int ranks, int joiners, int failures, Cut cut, String wrong) {}

    @ParameterizedTest(name = "without {0}")
    @EnumSource
    void withoutOneRuleTheModelFindsAViolation(Rule rule) {
        Case one = smallestCase(rule);
        Explorer explorer = explorer(EnumSet.complementOf(EnumSet.of(rule)), one.failures(), one.cut());
        assertThat(explorer.explore(State.initial(one.ranks(), one.joiners())))
                .hasValueSatisfying(
                        text -> assertThat(text).contains(one.wrong()).contains("the beginning\n  "));
    }

    /** After a minority has ended, the majority continues: the rules do not stop everybody. */
    @ParameterizedTest
    @CsvSource({"3, 0, 1", "5, 0, 2"})
    void aMajorityContinues(int ranks, int joiners, int failures) {
        Explorer explorer = explorer(EnumSet.allOf(Rule.class), failures, Cut.NEVER);
        assertThat(explorer.explore(State.initial(ranks, joiners))).isEmpty();
        assertThat(explorer.endsInWhichAGroupGoesOn()).isEqualTo(explorer.ends());
    }
}
