package io.jccl.lightgbm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class LearnerParametersTest {

    @Test
    void missingNumberOfMachinesIsAdded() {
        assertThat(LearnerParameters.forRanks(4, "objective=binary tree_learner=data"))
                .isEqualTo("objective=binary tree_learner=data num_machines=4");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "tree_learner=data num_machines=4",
                "num_machine=4\ttree=Voting",
                "tree=serial 'tree_learner'=\"data\" num_machines='4'",
                "\n tree_learner_type=data_parallel num_machines=4 num_machines=5",
                "tree_type=voting_parallel num_machines=4 "
            })
    void parametersThatFitTheCommunicatorAreKept(String parameters) {
        assertThat(LearnerParameters.forRanks(4, parameters)).isEqualTo(parameters);
    }

    @ParameterizedTest
    @CsvSource({
        "tree_learner=data num_machines=2, 'num_machines=2: expected 4, the size of the communicator; remove the parameter'",
        "objective=binary, tree_learner=serial: expected data or voting",
        "tree_learner=serial, tree_learner=serial: expected data or voting",
        "tree_learner=feature, 'tree_learner=feature: expected data or voting; LightGBM''s API refuses feature, only its"
                + " command supports it'",
        "tree_learner=data nodes=a:1, 'machines=a:1: expected none, the communicator connects the ranks; remove the"
                + " parameter'"
    })
    void parametersThatDoNotFitTheCommunicatorAreRefused(String parameters, String message) {
        assertThatThrownBy(() -> LearnerParameters.forRanks(4, parameters))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
    }
}
